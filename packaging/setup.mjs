// Brings a checkout to where it can be started, tested or measured: npm packages and Debian packages, only what is missing.
// Uses nothing but Node's own modules, since it runs before anything is installed. Silent and instant when all is there.
//
//   node packaging/setup.mjs [brief | start | test | bench]

import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { installCommand, installPackages, missingPackages, PACKAGES } from './debian.mjs';
import { reachableSoundServer } from './sound-address.mjs';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
/** Those for which uWebSockets.js comes as a binary in a package. */
const NODES = [20, 22];
const NPM_DEADLINE_MS = 10 * 60_000;

const SERVER = ['pulseaudio', 'pulseaudio-utils'];

/** Debian packages by purpose. To start, a sound server is needed only where there is none to talk to. */
const PROFILES = {
  brief: async () => [],
  start: async () => ((await reachableSoundServer()) === undefined ? SERVER : []),
  test: async () => Object.keys(PACKAGES).filter((name) => name !== 'wrk'),
  bench: async () => Object.keys(PACKAGES),
};

function requireNode() {
  const major = Number(process.versions.node.split('.')[0]);
  if (NODES.includes(major)) return;
  console.error(
    `tonearm needs Node ${NODES.join(' or ')}; this is ${process.version} (${process.execPath}).`,
  );
  process.exit(1);
}

function readJson(file) {
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : undefined;
}

/**
 * Whether node_modules holds what package-lock.json asks for. npm writes down what it installed
 * (node_modules/.package-lock.json), so an installation by hand counts too, and one without dev dependencies does not.
 */
export function npmPackagesComplete(root = ROOT) {
  const wanted = readJson(join(root, 'package-lock.json'));
  const installed = readJson(join(root, 'node_modules/.package-lock.json'));
  if (wanted === undefined || installed === undefined) return false;
  return Object.entries(wanted.packages).every(([path, { version, integrity, optional }]) => {
    if (path === '') return true;
    const have = installed.packages[path];
    // Optional packages are mostly other platforms' binaries.
    if (have === undefined || !existsSync(join(root, path))) return optional === true;
    return have.version === version && have.integrity === integrity;
  });
}

function installNpmPackages() {
  if (npmPackagesComplete()) return;
  console.log('setup: installing npm packages');
  const npm = spawnSync('npm', ['ci', '--include=dev', '--no-audit', '--no-fund', '--loglevel=error'], {
    cwd: ROOT,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: NPM_DEADLINE_MS,
  });
  if (npm.status === 0) return;
  console.error(`npm ci failed:\n${npm.stdout ?? ''}${npm.stderr ?? ''}${npm.error?.message ?? ''}`);
  process.exit(1);
}

/**
 * Installs what the profile lacks and says in one line what it does.
 * @param {keyof typeof PROFILES} profile
 * @returns {Promise<string[]>} Debian packages that are still missing; why, and what to type, has been printed.
 */
export async function ensure(profile) {
  requireNode();
  installNpmPackages();
  const missing = missingPackages(await PROFILES[profile]());
  if (missing.length === 0) return [];
  console.log(`setup: installing Debian packages: ${missing.join(' ')}`);
  const trouble = installPackages(missing);
  if (trouble === undefined) return [];
  const still = missingPackages(missing);
  console.log(`setup: could not install them (${trouble}). By hand: ${installCommand(still)}`);
  for (const name of still) console.log(`  ${name}: ${PACKAGES[name].why}`);
  return still;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const profile = process.argv[2] ?? 'test';
  if (!Object.hasOwn(PROFILES, profile)) {
    console.error(`usage: node packaging/setup.mjs [${Object.keys(PROFILES).join(' | ')}]`);
    process.exit(64);
  }
  process.exitCode = (await ensure(profile)).length === 0 ? 0 : 1;
}
