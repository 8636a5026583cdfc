// The binaries of uWebSockets.js: which package has them, for which processor, Node and C library. A table
// for whoever builds, chooses or packs them. Runs on any Node from 18 on, before anything is installed.

import { existsSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Major versions of Node by the module version in the names of binaries. No package of package-lock.json has
 * binaries for 26, but upstream's own package has.
 */
export const NODE_OF_MODULES = { 115: 20, 127: 22, 137: 24, 141: 25, 147: 26 };

/**
 * Packages of binaries, in the order in which they are tried: the first that is for this C library is taken.
 * `name` is the folder in node_modules, `folder` the one in it that holds the binaries, and `place` the
 * folder for them beside the bundles. `glibc` is the oldest C library that loads them. `nodes` are the Nodes
 * that the version in package-lock.json has binaries for, by processor in Node's words.
 */
export const NATIVES = [
  {
    name: 'uWebSockets.js',
    folder: '.',
    place: 'uws-newer',
    glibc: '2.38',
    nodes: { x64: [20, 22, 24, 25], arm64: [20, 22, 24, 25] },
  },
  {
    name: 'uws-pack',
    folder: 'dist/bin',
    place: 'uws-older',
    glibc: '2.28',
    nodes: { x64: [20, 22], arm64: [20, 22], arm: [20, 22] },
  },
];

/** The Nodes that have a binary for some processor. The `engines` of package.json must name the same. */
export const SUPPORTED_NODES = [...new Set(NATIVES.flatMap(({ nodes }) => Object.values(nodes).flat()))];

/** The version of the running C library; undefined where it is not glibc. */
export function thisGlibc() {
  process.report.excludeNetwork = true;
  return process.report.getReport().header.glibcVersionRuntime;
}

function isAtLeast(version, least) {
  const [major, minor] = version.split('.').map(Number);
  const [leastMajor, leastMinor] = least.split('.').map(Number);
  return major > leastMajor || (major === leastMajor && minor >= leastMinor);
}

/**
 * True when a package of package-lock.json has a binary for this major version of Node, on this processor and
 * C library.
 */
export function hasNative(node, arch, glibc) {
  if (glibc === undefined) return false;
  return NATIVES.some((row) => isAtLeast(glibc, row.glibc) && row.nodes[arch]?.includes(node));
}

/**
 * The installed binaries for a processor, in Node's words: the package of each, its Node, its file, and its
 * place beside the bundles.
 * @returns {{ name: string, node: number, file: string, place: string }[]}
 */
export function nativeFiles(root, arch) {
  return NATIVES.flatMap(({ name, folder, place }) =>
    Object.entries(NODE_OF_MODULES).map(([modules, node]) => {
      const binary = `uws_linux_${arch}_${modules}.node`;
      return {
        name,
        node,
        file: join(root, 'node_modules', name, folder, binary),
        place: join(place, binary),
      };
    }),
  ).filter(({ file }) => existsSync(file));
}
