// `npm run bench [-- NAMES]`: builds, then runs the measurements of bench/ one after another, so that none disturbs another.
// NAMES are parts of file names; none means all.

import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ensure } from './setup.mjs';

const ROOT = fileURLToPath(new URL('..', import.meta.url));

/** Runs Node in the foreground; its status, 1 when a signal ended it. */
function node(...args) {
  return spawnSync(process.execPath, args, { cwd: ROOT, stdio: 'inherit' }).status ?? 1;
}

async function main(names) {
  await ensure('bench');
  if (node('packaging/build.mjs') !== 0) return 1;
  const measurements = readdirSync(join(ROOT, 'bench'))
    .filter((file) => file.endsWith('.ts'))
    .map((file) => file.slice(0, -'.ts'.length))
    .filter((file) => names.length === 0 || names.some((name) => file.includes(name)))
    .sort();
  if (measurements.length === 0) {
    console.error('bench: nothing matches');
    return 1;
  }
  let failed = 0;
  for (const name of measurements) {
    console.log(`\n== ${name}`);
    if (node('--expose-gc', join('build/bench', `${name}.js`)) !== 0) failed += 1;
  }
  return failed === 0 ? 0 : 1;
}

process.exitCode = await main(process.argv.slice(2));
