// The result file on a real file system: every way in which it appears, changes and vanishes. Other kinds of files: small-file.test.ts.

import assert from 'node:assert/strict';
import { mkdirSync, renameSync, unlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { ResultFile, type ResultReading } from '../../../src/actors/upgrade/result-file.js';
import { systemClock } from '../../../src/clock.js';
import { ManualClock } from '../../manual-clock.js';
import { temporaryFolder } from '../../temporary-folder.js';
import { until } from '../../until.js';

const DEADLINE_MS = 10_000;

const content = (version: string) =>
  `{"current":"0","latest":${JSON.stringify(version)},"upgrade_available":true}`;

/** A reader of a/b/result.json; `sees` waits for its last result. */
function reader(t: TestContext) {
  const path = join(temporaryFolder(t), 'a', 'b', 'result.json');
  let last: ResultReading | undefined;
  const start = async () => {
    const made = new ResultFile(
      path,
      (result) => {
        last = result;
      },
      systemClock,
    );
    t.after(() => made.stop());
    await made.read();
  };
  const sees = (what: string) =>
    until(
      what,
      () => {
        const said = last === undefined ? '' : last.ok ? last.body : last.problem;
        return said.includes(what);
      },
      DEADLINE_MS,
    );
  return { path, start, sees };
}

/** Writes as a careful detector does: beside the file, then renamed over it. */
function replace(path: string, text: string): void {
  writeFileSync(`${path}.new`, text);
  renameSync(`${path}.new`, path);
}

test('atomic renames, writes in place, removal and return are seen', async (t) => {
  const { path, start, sees } = reader(t);
  mkdirSync(dirname(path), { recursive: true });
  await start();
  await sees('does not exist');
  for (const version of ['v1', 'v2', 'v3']) {
    replace(path, content(version));
    await sees(version);
  }
  writeFileSync(path, content('v4'));
  await sees('v4');
  writeFileSync(path, content('v5').slice(0, 20));
  await sees('not a JSON object');
  writeFileSync(path, content('v6'));
  await sees('v6');
  unlinkSync(path);
  await sees('does not exist');
  replace(path, content('v7'));
  await sees('v7');
});

test('a result file that takes too long to read is reported, waited for, and published in the end', async (t) => {
  const path = join(temporaryFolder(t), 'result.json');
  writeFileSync(path, content('v1'));
  const said: ResultReading[] = [];
  const clock = new ManualClock();
  const made = new ResultFile(path, (result) => said.push(result), clock);
  // The manual clock reaches the deadline before the disk answers.
  const reading = made.read();
  clock.advance(4_000);
  assert.deepEqual(said, [{ ok: false, problem: 'it cannot be read within 4 s' }]);
  await reading;
  assert.equal(said[1]?.ok, true);
  assert.equal(clock.timers, 0);
  await made.stop();
});

test('the last of many quick changes of the result file is known in the end', async (t) => {
  const { path, start, sees } = reader(t);
  mkdirSync(dirname(path), { recursive: true });
  await start();
  for (let n = 1; n <= 300; n++) replace(path, content(`v${n}.`));
  await sees('v300.');
});

test('a change during a reading of the result file makes another reading', async (t) => {
  const path = join(temporaryFolder(t), 'result.json');
  const said: ResultReading[] = [];
  const made: ResultFile = new ResultFile(
    path,
    (result) => {
      said.push(result);
      if (said.length > 1) return;
      writeFileSync(path, content('v1'));
      void made.read();
    },
    systemClock,
  );
  await made.read();
  await made.stop();
  assert.equal(said.length, 2);
});
