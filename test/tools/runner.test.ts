// The test runner's own parts: its reporter tells what failed and what was skipped, and leftovers are found and removed.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';

const PACKAGING = new URL('../../../packaging/', import.meta.url);

/** Runs Node to its end, whatever its status, outside of this test run. */
function node(...args: readonly string[]): Promise<{ readonly failed: boolean; readonly stdout: string }> {
  const { NODE_TEST_CONTEXT: _, ...own } = process.env;
  const env = { ...own, TONEARM_TESTED_ON: 'the moon' };
  return new Promise((resolve) => {
    execFile(process.execPath, [...args], { env }, (error, stdout) =>
      resolve({ failed: error !== null, stdout }),
    );
  });
}

function folder(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), 'tonearm-runner-'));
  t.after(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

test('the reporter tells failures with their place and what was printed, skips with their reason, and the summary', async (t) => {
  const file = join(folder(t), 'sample.test.mjs');
  writeFileSync(
    file,
    `import { describe, test } from 'node:test';
     test('good', () => {});
     test('left out', { skip: 'no moon' }, () => {});
     describe('a suite', () => { test('bad', () => { console.log('was printed'); throw new Error('broken'); }); });`,
  );
  const reporter = fileURLToPath(new URL('reporter.mjs', PACKAGING));
  const { failed, stdout } = await node('--test', `--test-reporter=${reporter}`, file);
  assert.equal(failed, true);
  assert.match(stdout, /^not ok - bad \(.*sample\.test\.mjs:4, the moon\)\n {4}Error: broken/m);
  assert.match(stdout, /^ {4}was printed$/m);
  assert.match(stdout, /^skipped - left out \(.*\): no moon$/m);
  for (const line of ['# tests 3', '# pass 1', '# fail 1', '# skipped 1']) {
    assert.match(stdout, new RegExp(`^${line}$`, 'm'));
  }
  assert.doesNotMatch(stdout, /good|a suite/);
  const alone = await node('--test', '--test-name-pattern=good', `--test-reporter=${reporter}`, file);
  assert.doesNotMatch(alone.stdout, /does not match/, 'what was not asked for is not told as skipped');
  assert.match(alone.stdout, /^# pass 1$/m);
});

test('the reporter tells how many branches of each folder of src were taken', async () => {
  type Report = (events: Iterable<object>) => AsyncIterable<string>;
  const { default: report } = (await import(new URL('reporter.mjs', PACKAGING).href)) as { default: Report };
  const file = (path: string, coveredBranchCount: number, totalBranchCount: number): object => ({
    path: join(process.cwd(), path),
    coveredBranchCount,
    totalBranchCount,
  });
  const files = [
    file('src/b/x.ts', 1, 2),
    file('src/a/y.ts', 3, 3),
    file('test/z.ts', 0, 9),
    file('src/b/z.ts', 1, 4),
  ];
  let said = '';
  for await (const text of report([{ type: 'test:coverage', data: { summary: { files } } }])) said += text;
  assert.equal(said, ' 100.0 %  3 of 3 branches  src/a\n  33.3 %  2 of 6 branches  src/b\n');
});

test('files and processes that a run leaves are named and removed', async (t) => {
  const script = join(folder(t), 'leave.mjs');
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
  const { failed, stdout } = await node(script);
  assert.equal(failed, false);
  const { found, directory, pid }: { found: string[]; directory: string; pid: number } = JSON.parse(stdout);
  assert.deepEqual(found, [`process ${pid}: sleep 600`, `file ${directory}/forgotten`]);
  assert.equal(existsSync(directory), false);
  assert.equal(existsSync(`/proc/${pid}/exe`), false);
});

test('a run that leaves nothing is found clean', async (t) => {
  const script = join(folder(t), 'clean.mjs');
  writeFileSync(
    script,
    `import { openRunDirectory } from '${new URL('leftovers.mjs', PACKAGING).href}';
     console.log(JSON.stringify(await openRunDirectory().close()));`,
  );
  assert.equal((await node(script)).stdout, '[]\n');
});
