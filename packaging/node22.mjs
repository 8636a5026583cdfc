// Node 22, fetched: where the Node at hand has no binary of uWebSockets.js, as the second Node that is tested, and for the
// package that brings its own. Taken from the npm registry, since npm is what every machine with Node has, which checks what
// it fetches against the registry's digest. Kept in node_modules/.cache. Runs on any Node from 18 on.

import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { NODE_MODULE_VERSIONS } from './deb/architectures.mjs';

/** One version, so that the same sources give the same package. Newer ones mend what is found in Node: keep up with them. */
export const NODE_22 = '22.23.3';
/** Those for which the registry has Node 22, in Node's words. */
const NODE_22_ARCHITECTURES = ['x64', 'arm64'];
const NPM_DEADLINE_MS = 5 * 60_000;

/** Fills `home` in one step: several may fetch at once, and what was broken off must not look whole. */
function fetchInto(home, name, arch) {
  const fresh = `${home}.new-${process.pid}`;
  try {
    mkdirSync(fresh, { recursive: true });
    // The package of the platform itself: `node@22` would fetch it with an install script, which npm may not run.
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
    const npm = spawnSync('npm', [...install, ...foreign, `${name}@${NODE_22}`], {
      cwd: fresh,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: NPM_DEADLINE_MS,
    });
    if (npm.status !== 0) {
      return `npm could not install ${name}@${NODE_22}: ${npm.error?.message ?? npm.stderr.trim()}`;
    }
    if (!existsSync(home)) renameSync(fresh, home);
    return undefined;
  } finally {
    rmSync(fresh, { recursive: true, force: true });
  }
}

/**
 * The official Node 22 for an architecture (in Node's words), downloaded on first use: the binary, and its licence text.
 * @returns {{ node: string, licence: string } | { trouble: string }}
 */
export function node22(root, arch = process.arch) {
  if (!NODE_22_ARCHITECTURES.includes(arch)) return { trouble: `there is no Node 22 for ${arch} to fetch` };
  const name = `node-linux-${arch}`;
  const home = join(root, `node_modules/.cache/node-${NODE_22}-${arch}`);
  const folder = join(home, 'node_modules', name);
  const node = join(folder, 'bin/node');
  const trouble = existsSync(home) ? undefined : fetchInto(home, name, arch);
  if (trouble !== undefined) return { trouble };
  if (arch === process.arch) {
    const { stdout } = spawnSync(node, ['--version'], { encoding: 'utf8' });
    if (stdout?.trim() !== `v${NODE_22}`) return { trouble: `${node} does not run` };
  }
  return { node, licence: join(folder, 'LICENSE') };
}

/** True when uWebSockets.js has a binary for the running Node. */
export function thisNodeFits() {
  return NODE_MODULE_VERSIONS.includes(Number(process.versions.modules));
}

/**
 * The Node to continue with: this one, or where it does not fit, Node 22, which it reports in one line.
 * @returns {{ node: string } | { trouble: string }}
 */
export function fittingNode(root) {
  if (thisNodeFits()) return { node: process.execPath };
  console.error(
    `setup: uWebSockets.js has no binary for Node ${process.version}, so this continues with Node ${NODE_22} ` +
      'in node_modules/.cache, which is fetched once',
  );
  const { node, trouble } = node22(root);
  return trouble === undefined ? { node } : { trouble: `${trouble}; tonearm needs Node 20 or 22` };
}
