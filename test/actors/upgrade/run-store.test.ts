// The state file is written whole, read back unchanged, and nobody waits for it longer than its limit.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { parseSaved, RunStore, type SavedRun, savedText } from '../../../src/actors/upgrade/run-store.js';
import { ManualClock } from '../../manual-clock.js';
import { temporaryFolder } from '../../temporary-folder.js';

const A = 'a'.repeat(32);
const HERE = { boot: 'boot', manager: 'manager', unit: 'up.service' };

function store(t: TestContext) {
  const directory = temporaryFolder(t);
  const path = join(directory, 'deep', 'run.json');
  const problems: (string | undefined)[] = [];
  const clock = new ManualClock();
  const made = new RunStore(path, (problem) => problems.push(problem), clock);
  return { directory, path, problems, clock, made };
}

/** Without fields that are undefined. */
const known = (saved: SavedRun | undefined): unknown => saved && JSON.parse(JSON.stringify(saved));

const ENDED = { origin: 'systemd', invocation: A, startedMs: 5_000, finishedMs: 9_000 } as const;
const SAVED: SavedRun = { record: { state: 'failed', ...ENDED }, circumstances: HERE };

test('a run is saved whole, for the owner only, and read back', async (t) => {
  const { path, made, problems } = store(t);
  assert.equal(await made.recall(), undefined);
  for (let n = 0; n < 50; n++)
    made.save({ ...SAVED, record: { state: 'running', origin: 'socket', startedMs: n * 1000 } });
  made.save(SAVED);
  await made.whenWritten();
  assert.deepEqual(known(await made.recall()), SAVED);
  assert.deepEqual(readdirSync(join(path, '..')), ['run.json']);
  assert.equal(statSync(path).mode & 0o777, 0o600);
  assert.match(readFileSync(path, 'utf8'), /"started_at":"1970-01-01T00:00:05Z"/);
  assert.ok(problems.every((problem) => problem === undefined));
});

test('a run that is only queued is read back as queued', () => {
  for (const before of ['', A]) {
    const queued = {
      origin: 'systemd',
      invocationBefore: before,
      startJob: '/job/7',
      startedMs: 5_000,
    } as const;
    const saved: SavedRun = { record: { state: 'running', ...queued }, circumstances: HERE };
    assert.deepEqual(known(parseSaved(savedText(saved))), saved);
  }
});

test('a run is saved whatever stands at the path of the temporary file', async (t) => {
  const { directory, path, made, problems } = store(t);
  mkdirSync(join(path, '..'));
  const fresh = `${path}.new`;
  const fifo = () => execFileSync('mkfifo', [fresh]);
  const link = () => symlinkSync(join(directory, 'elsewhere'), fresh);
  for (const put of [fifo, link, () => writeFileSync(fresh, 'half of a te')]) {
    put();
    made.save(SAVED);
    await made.whenWritten();
    assert.deepEqual(known(await made.recall()), SAVED);
    assert.deepEqual(readdirSync(join(path, '..')), ['run.json']);
  }
  assert.equal(existsSync(join(directory, 'elsewhere')), false);
  assert.ok(problems.every((problem) => problem === undefined));
});

test('a disk that hangs is waited for a bounded time', async (t) => {
  const { made, clock, path, problems } = store(t);
  // The manual clock reaches the deadline before the disk answers.
  const recalling = made.recall();
  clock.advance(4_000);
  assert.equal(await recalling, undefined);
  assert.deepEqual(problems.splice(0), ['it is ignored: it cannot be read within 4 s']);
  made.save(SAVED);
  const late = made.whenWritten();
  clock.advance(1_000);
  await late;
  assert.equal(existsSync(path), false);
  await made.whenWritten();
  assert.deepEqual(problems, [undefined]);
  assert.deepEqual(known(await made.recall()), SAVED);
  assert.equal(clock.timers, 0);
});

test('a place that cannot be written is reported and tried again, and the newest run is saved when it can be', async (t) => {
  const { directory, path, made, problems, clock } = store(t);
  const inTheWay = join(directory, 'deep');
  writeFileSync(inTheWay, '');
  made.save({ ...SAVED, record: { state: 'running', origin: 'socket', startedMs: 1_000 } });
  await made.whenWritten();
  made.save(SAVED);
  await made.whenWritten();
  clock.advance(10_000);
  await made.whenWritten();
  assert.equal(existsSync(path), false);
  assert.equal(problems.length, 3);
  for (const problem of problems) assert.match(problem ?? '', /cannot be written/);
  rmSync(inTheWay);
  clock.advance(10_000);
  await made.whenWritten();
  assert.equal(problems.at(-1), undefined);
  assert.deepEqual(known(await made.recall()), SAVED);
  assert.equal(clock.timers, 0);
});

test('a file that does not hold a run is ignored', () => {
  const good = savedText(SAVED);
  assert.deepEqual(known(parseSaved(good)), SAVED);
  for (const [from, to] of [
    [/^/, 'x'],
    [/}\n$/, ''],
    ['"failed"', '"broken"'],
    ['"boot":"boot",', ''],
    [/.*/s, '[]'],
    [/.*/s, 'null'],
    [/.*/s, ''],
    [/.*/s, '{"state":"running","boot":"","manager":"","unit":""}'],
  ] as const) {
    assert.equal(parseSaved(good.replace(from, to)), undefined, String(from));
  }
});
