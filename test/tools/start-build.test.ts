// Tests when `npm start` builds the bundles before it starts the daemon. A folder stands in for the checkout:
// its build only fails, and its daemon only prints.

import assert from 'node:assert/strict';
import { cpSync, mkdirSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { temporaryFolder } from '../temporary-folder.js';
import { spawned } from './spawned.js';

// build/test/tools/start-build.test.js -> the project's root
const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const HOUR_S = 3600;

/**
 * Makes a checkout whose bundles were built after its last change. The time of dist/package.json counts as
 * the time of the build (packaging/start.mjs).
 */
function makeBuiltCheckout(t: TestContext): string {
  const checkout = temporaryFolder(t);
  cpSync(join(ROOT, 'packaging'), join(checkout, 'packaging'), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(checkout, 'node_modules'));
  for (const folder of ['src/page', 'dist']) mkdirSync(join(checkout, folder), { recursive: true });
  for (const [file, text] of Object.entries({
    'packaging/build.mjs': 'process.exitCode = 1;',
    'src/page/slider.tsx': '',
    'package-lock.json': '{}',
    'tsconfig.json': '{}',
    'package.json': '{}',
    'dist/main.js': "console.log('it runs');",
    'dist/package.json': '{}',
  })) {
    writeFileSync(join(checkout, file), text);
  }
  setTime(checkout, 'dist/package.json', HOUR_S);
  return checkout;
}

/** Sets the time of a file or folder to a time in the future, so that it is newer than what is made now. */
function setTime(checkout: string, path: string, secondsFromNow: number): void {
  const timeS = Date.now() / 1000 + secondsFromNow;
  utimesSync(join(checkout, path), timeS, timeS);
}

/** Runs start.mjs of the checkout. Resolves with all that it prints. */
async function start(t: TestContext, checkout: string): Promise<string> {
  const command = [process.execPath, join(checkout, 'packaging/start.mjs'), '--version'];
  const { ended, out, err } = spawned(t, process.env, command);
  await ended;
  return out() + err();
}

test('npm start builds nothing if nothing has changed since the last build', async (t) => {
  assert.equal(await start(t, makeBuiltCheckout(t)), 'it runs\n');
});

/** A file that is deleted changes only its folder, such as src/page. */
const CHANGED = [
  'src/page/slider.tsx',
  'src/page',
  'tsconfig.json',
  'package.json',
  'package-lock.json',
  'packaging/build.mjs',
  'packaging/bundles.mjs',
  'packaging/cached-bundle.cjs',
  'packaging/browser-features.json',
];
for (const path of CHANGED) {
  test(`npm start builds if ${path} has changed since the last build`, async (t) => {
    const checkout = makeBuiltCheckout(t);
    setTime(checkout, path, 2 * HOUR_S);
    assert.match(await start(t, checkout), /^start: building; .*\nstart: the build failed\n/);
  });
}
