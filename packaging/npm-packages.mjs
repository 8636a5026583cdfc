// Decides whether all npm packages of the checkout are there, and installs them, also with Debian's npm 9.2.

import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { atWork } from './at-work.mjs';
import { FETCHED_NODES, majorToFetch, thisNodeFits } from './fetched-node.mjs';

const NPM_DEADLINE_MS = 10 * 60_000;

function readJson(file) {
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : undefined;
}

/**
 * True when node_modules holds what package-lock.json asks for. npm records what it installed
 * (node_modules/.package-lock.json), so an installation by hand counts too, and one without dev dependencies
 * does not.
 */
function npmPackagesComplete(root) {
  const locked = readJson(join(root, 'package-lock.json'));
  const installed = readJson(join(root, 'node_modules/.package-lock.json'));
  if (locked === undefined || installed === undefined) return false;
  return Object.entries(locked.packages).every(([path, { version, integrity, link, optional }]) => {
    // npm 9.2 copies a folder of the checkout, later versions link it, and each records that in its own way.
    if (link === true || !path.startsWith('node_modules/')) return existsSync(join(root, path));
    const have = installed.packages[path];
    // Optional packages are mostly other platforms' binaries.
    if (have === undefined || !existsSync(join(root, path))) return optional === true;
    return have.version === version && have.integrity === integrity;
  });
}

/** npm's environment, which names the Node that the packages are for if npm runs on another one. */
function npmEnvironment(root) {
  const major = thisNodeFits() ? undefined : majorToFetch();
  if (major === undefined) return process.env;
  const preload = join(root, 'packaging/npm-for-node.cjs');
  const options = `${process.env.NODE_OPTIONS ?? ''} --require ${JSON.stringify(preload)}`;
  return {
    ...process.env,
    NODE_OPTIONS: options,
    TONEARM_PACKAGES_FOR: `v${FETCHED_NODES.get(major)[process.arch]}`,
  };
}

/**
 * Installs the npm packages exactly as the lock file has them, unless all are there.
 * @returns {string | undefined} why it could not be done; undefined when all are there now.
 */
export function installNpmPackages(root) {
  if (npmPackagesComplete(root)) return undefined;
  const args = ['ci', '--include=dev', '--no-audit', '--no-fund', '--loglevel=error'];
  const options = {
    cwd: root,
    env: npmEnvironment(root),
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: NPM_DEADLINE_MS,
  };
  const long = `this is done once, and takes up to ${NPM_DEADLINE_MS / 60_000} minutes on a slow machine`;
  const npm = atWork('setup', 'installing npm packages', long, () => spawnSync('npm', args, options));
  if (npm.status === 0) return undefined;
  return `npm ci failed:\n${npm.stdout ?? ''}${npm.stderr ?? ''}${npm.error?.message ?? ''}`;
}
