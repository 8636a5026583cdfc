// Brings a checkout to where it can be started, tested or measured: npm packages and Debian packages, only what is missing.
// Uses nothing but Node's own modules, since it runs before anything is installed. Silent and instant when all is there.
//
//   node packaging/setup.mjs [brief | start | test | bench]

import { fileURLToPath } from 'node:url';
import { installCommand, installPackages, missingPackages, PACKAGES } from './debian.mjs';
import { thisNodeFits } from './node22.mjs';
import { installNpmPackages } from './npm-packages.mjs';
import { reachableSoundServer } from './sound-address.mjs';

const ROOT = fileURLToPath(new URL('..', import.meta.url));

const SANDBOX = ['pulseaudio', 'pulseaudio-utils', 'curl'];

/** Debian packages by purpose. To start, a sound server, and what the commands to try need, only where there is none to talk to. */
const PROFILES = {
  brief: async () => [],
  start: async () => ((await reachableSoundServer()) === undefined ? SANDBOX : []),
  test: async () => Object.keys(PACKAGES).filter((name) => name !== 'wrk'),
  bench: async () => Object.keys(PACKAGES),
};

/** Scripts that npm starts come here on a Node that fits (packaging/run). */
function requireNode() {
  if (thisNodeFits()) return;
  console.error(
    `tonearm needs Node 20 or 22, which npm's scripts fetch; this is ${process.version} (${process.execPath}).`,
  );
  process.exit(1);
}

/**
 * Installs what the profile lacks and says in one line what it does.
 * @param {keyof typeof PROFILES} profile
 * @returns {Promise<string[]>} Debian packages that are still missing; why, and what to type, has been printed.
 */
export async function ensure(profile) {
  requireNode();
  const trouble = installNpmPackages(ROOT);
  if (trouble !== undefined) {
    console.error(`setup: ${trouble}`);
    process.exit(1);
  }
  const missing = missingPackages(await PROFILES[profile]());
  if (missing.length === 0) return [];
  console.log(`setup: installing Debian packages: ${missing.join(' ')}`);
  const aptTrouble = installPackages(missing);
  if (aptTrouble === undefined) return [];
  const still = missingPackages(missing);
  console.log(`setup: could not install them (${aptTrouble}). By hand: ${installCommand(still)}`);
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
