// Tests the test runner: it reports failures and skipped tests, and it finds and removes leftovers.

import assert from 'node:assert/strict';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { temporaryFolder } from '../temporary-folder.js';
import { until } from '../until.js';
import { spawned } from './spawned.js';

const PACKAGING = new URL('../../../packaging/', import.meta.url);

/** Runs Node to its end, whatever its status, outside of this test run. */
async function runNode(t: TestContext, ...args: readonly string[]) {
  // With NODE_TEST_CONTEXT set, a test runner believes that it runs within another one, and runs nothing.
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const program = spawned(t, env, [process.execPath, ...args]);
  return { failed: (await program.ended) !== 0, stdout: program.out() };
}

/** Runs a test file for each text. Resolves with the counts of the runner, and with its output. */
async function runFiles(
  t: TestContext,
  texts: readonly string[],
  options: object = {},
): Promise<readonly [counted: { failed: number; isGreen: boolean }, output: string]> {
  const files = texts.map((text, index) => {
    const file = join(temporaryFolder(t), `sample-${index}.test.mjs`);
    writeFileSync(file, `import { before, describe, test } from 'node:test';\n${text}`);
    return file;
  });
  const run = { place: 'Debian 13', files, command: [process.execPath], atOnce: 2, ...options };
  const script = `
    import { runTests } from '${new URL('test-run.mjs', PACKAGING).href}';
    const { passed, failed, isGreen, skipped } = await runTests(${JSON.stringify({ deadlineMs: 60_000, ...run })});
    console.log('COUNTED' + JSON.stringify({ passed, failed, isGreen, skipped: [...skipped] }));`;
  const { stdout } = await runNode(t, '--input-type=module', '--eval', script);
  const [output = '', counted = ''] = stdout.split('COUNTED');
  return [JSON.parse(counted), output];
}

const GOOD = "test('good', () => {}); test('left out', { skip: 'needs root' }, () => {});";

test('a failure is printed with its place and output; skipped tests are counted by reason', async (t) => {
  const bad =
    "describe('a suite', () => { test('bad', () => { console.log('printed'); throw new Error('broken'); }); });";
  const [counted, output] = await runFiles(t, [GOOD, bad]);
  assert.deepEqual(counted, { passed: 1, failed: 1, isGreen: false, skipped: [['needs root', 1]] });
  assert.match(output, /^not ok - bad \(.*sample-1\.test\.mjs:2, Debian 13\)\n {4}Error: broken/m);
  assert.match(output, /^ {4}printed$/m);
  assert.doesNotMatch(output, /good|a suite/);
});

test('a skipped test makes the run fail only where no test may be skipped', async (t) => {
  const [{ isGreen }] = await runFiles(t, [GOOD]);
  assert.equal(isGreen, true);
  const [counted, output] = await runFiles(t, [GOOD], { isWhole: true });
  assert.equal(counted.isGreen, false);
  assert.match(output, /^left out of Debian 13, where nothing may be: needs root$/m);
});

test('tests whose names contain no requested title are neither run nor counted as skipped', async (t) => {
  const bad = "test('bad', () => { throw new Error(); });";
  // The name `good` contains this title.
  const [counted] = await runFiles(t, [GOOD, bad], { titles: ['goo'] });
  assert.deepEqual(counted, { passed: 1, failed: 0, isGreen: true, skipped: [] });
});

test('a suite that cannot begin is one failure, with the number of tests that did not run', async (t) => {
  const rows = "for (let i = 0; i < 247; i += 1) test('row ' + i, () => {});";
  const suite = `describe('a node', () => { before(() => { throw new Error('it did not boot'); }); ${rows} });`;
  const [counted, output] = await runFiles(t, [suite]);
  assert.deepEqual([counted.failed, counted.isGreen], [1, false]);
  assert.match(output, /^not ok - a node \(.*\)\n {4}Error: it did not boot/);
  assert.match(output, /^247 more did not run because of the failures above, such as: row 0$/m);
  assert.doesNotMatch(output, /^not ok - row/m);
});

test('a remark of the harness is printed, also where the test passes', async (t) => {
  // A remark is a line of this form (test/remark.ts).
  const remarks = "test('good', () => console.log('# it was deaf'));";
  const [{ isGreen }, output] = await runFiles(t, [remarks]);
  assert.equal(isGreen, true);
  assert.match(output, /^remark - it was deaf \(.*, Debian 13\)$/m);
});

test('a test that hangs, and a file that cannot be loaded, are failures', async (t) => {
  const [{ failed }, output] = await runFiles(t, [
    // Nothing is left that could resolve this promise, so Node ends the test at once.
    "test('waits', () => new Promise(() => {}));",
    "console.log('loading'); throw new Error('no such thing');",
  ]);
  assert.equal(failed, 2);
  assert.match(output, /^not ok - waits \(.*\)\n.*still pending/m);
  assert.match(output, /^not ok - .*sample-1\.test\.mjs \(.*\)(?:\n {2,}.*)*no such thing/m);
});

test('files and processes that a run leaves are named and removed', async (t) => {
  const script = join(temporaryFolder(t), 'leave.mjs');
  writeFileSync(
    script,
    `import { spawn } from 'node:child_process';
     import { writeFileSync } from 'node:fs';
     import { openRunDirectory } from '${new URL('leftovers.mjs', PACKAGING).href}';
     const run = openRunDirectory();
     writeFileSync(run.directory + '/forgotten', '');
     const env = { ...process.env, TMPDIR: run.directory };
     const child = spawn('sleep', ['600'], { env, detached: true, stdio: 'ignore' });
     const found = await run.close();
     console.log(JSON.stringify({ found, directory: run.directory, pid: child.pid }));
     child.unref();`,
  );
  const { failed, stdout } = await runNode(t, script);
  assert.equal(failed, false);
  const { found, directory, pid }: { found: string[]; directory: string; pid: number } = JSON.parse(stdout);
  assert.deepEqual(found, [`process ${pid}: sleep 600`, `file ${directory}/forgotten`]);
  assert.equal(existsSync(directory), false);
  // A zombie still has its folder in /proc, but no `exe`.
  await until('the process has ended', () => !existsSync(`/proc/${pid}/exe`));
});
