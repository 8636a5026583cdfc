// Fetches a Node: where the running one has no binary of uWebSockets.js, for tests on another Node, and for
// the packages that bring their own. It comes from the npm registry, because every machine with Node has
// npm, and npm checks what it fetches against the registry's digest. It is kept in node_modules/.cache. This
// file runs on any Node from 18 on.

import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { atWork } from './at-work.mjs';
import { hasNative, thisGlibc } from './natives.mjs';

/**
 * Versions by major version, the preferred one first, and by processor, because the registry does not have
 * every version for each processor, and none for arm. They are fixed, so that the same sources give the same
 * package. They must be raised when newer versions mend faults of Node.
 */
export const FETCHED_NODES = new Map([
  [24, { x64: '24.22.3', arm64: '24.22.0' }],
  [22, { x64: '22.23.3', arm64: '22.23.3' }],
]);
const NPM_DEADLINE_MS = 5 * 60_000;

/**
 * Fills `home` in one step, because several processes may fetch at once, and an interrupted fetch must not
 * look whole. Answers with the problem, or undefined.
 */
function fetchInto(home, name, version, arch) {
  const fresh = `${home}.new-${process.pid}`;
  try {
    mkdirSync(fresh, { recursive: true });
    // `name` is the package that has the binary itself. The package `node` would fetch it with an install
    // script, which npm does not always run.
    const install = [
      'install',
      '--prefix',
      fresh,
      '--no-save',
      '--no-audit',
      '--no-fund',
      '--loglevel=error',
    ];
    // npm would refuse a binary that does not run here.
    const foreign = arch === process.arch ? [] : ['--force'];
    const npm = spawnSync('npm', [...install, ...foreign, `${name}@${version}`], {
      cwd: fresh,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: NPM_DEADLINE_MS,
    });
    if (npm.status !== 0) {
      return `npm could not install ${name}@${version}: ${npm.error?.message ?? npm.stderr.trim()}`;
    }
    if (!existsSync(home)) renameSync(fresh, home);
    return undefined;
  } finally {
    rmSync(fresh, { recursive: true, force: true });
  }
}

/**
 * The official Node of a major version, for a processor in Node's words, downloaded on first use: its
 * version, binary and licence text.
 * @returns {{ version: string, node: string, licence: string } | { problem: string }}
 */
export function fetchedNode(root, major, arch = process.arch) {
  const version = FETCHED_NODES.get(major)[arch];
  if (version === undefined) return { problem: `there is no Node ${major} for ${arch} to fetch` };
  const name = `node-linux-${arch}`;
  const home = join(root, `node_modules/.cache/node-${version}-${arch}`);
  const folder = join(home, 'node_modules', name);
  const node = join(folder, 'bin/node');
  const fetch = () => fetchInto(home, name, version, arch);
  const long = `this is done once, and takes up to ${NPM_DEADLINE_MS / 60_000} minutes`;
  const problem = existsSync(home) ? undefined : atWork('setup', `fetching Node ${version}`, long, fetch);
  if (problem !== undefined) return { problem };
  if (arch === process.arch) {
    const { stdout } = spawnSync(node, ['--version'], { encoding: 'utf8' });
    if (stdout?.trim() !== `v${version}`) return { problem: `${node} does not run` };
  }
  return { version, node, licence: join(folder, 'LICENSE') };
}

/** True when uWebSockets.js has a binary for the running Node. */
export function thisNodeFits() {
  return hasNative(Number.parseInt(process.versions.node, 10), process.arch, thisGlibc());
}

/** The major version to fetch where the running Node does not fit, or undefined if none would fit. */
export function majorToFetch() {
  const isFitting = (major) => hasNative(major, process.arch, thisGlibc());
  return [...FETCHED_NODES].find(([major, versions]) => process.arch in versions && isFitting(major))?.[0];
}

/**
 * The Node to continue with: the running one, or a fetched one, if the running one does not fit. A fetched
 * one is reported in one line.
 * @returns {{ node: string } | { problem: string }}
 */
export function fittingNode(root) {
  if (thisNodeFits()) return { node: process.execPath };
  const here = `Node ${process.version} (${process.arch}, glibc ${thisGlibc() ?? 'none'})`;
  const major = majorToFetch();
  if (major === undefined) return { problem: `uWebSockets.js has no binary for ${here}` };
  console.error(
    `setup: uWebSockets.js has no binary for ${here}, so this continues with Node ${FETCHED_NODES.get(major)[process.arch]} ` +
      'in node_modules/.cache',
  );
  return fetchedNode(root, major);
}
