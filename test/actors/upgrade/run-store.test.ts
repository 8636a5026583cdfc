// Tests that the state file is written whole and read back unchanged, that the wait for its disk is bounded,
// and that a failed write is reported and tried again.

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

const INVOCATION = 'a'.repeat(32);
/** The longest waits of the store for its disk (run-store.ts). */
const READ_MAX_MS = 10_000;
const WRITE_MAX_MS = 1_000;
/** The store waits this long after a failed write (run-store.ts). */
const RETRY_PAUSE_MS = 10_000;
const CIRCUMSTANCES = { boot: 'boot', manager: 'manager', unit: 'up.service' };

function createStore(t: TestContext) {
  const directory = temporaryFolder(t);
  const path = join(directory, 'deep', 'run.json');
  /** The reports of the store: a problem, or undefined for a successful write. */
  const problems: (string | undefined)[] = [];
  const clock = new ManualClock();
  const store = new RunStore(path, (problem) => problems.push(problem), clock);
  return { directory, path, problems, clock, store };
}

/** The saved run without the members that are undefined. */
const withoutUndefined = (saved: SavedRun | undefined): unknown => saved && JSON.parse(JSON.stringify(saved));

const ENDED = { origin: 'systemd', invocation: INVOCATION, startedMs: 5_000, finishedMs: 9_000 } as const;
const SAVED: SavedRun = { record: { state: 'failed', ...ENDED }, circumstances: CIRCUMSTANCES };

test('a run is read back as it was saved, and only the owner can read its file', async (t) => {
  const { path, store, problems } = createStore(t);
  assert.equal(await store.recall(), undefined);
  // All further saves come while the first run is being written. Only the last run, SAVED, stays in the file.
  for (let second = 0; second < 50; second++)
    store.save({ ...SAVED, record: { state: 'running', origin: 'socket', startedMs: second * 1000 } });
  store.save(SAVED);
  await store.whenWritten();

  assert.deepEqual(withoutUndefined(await store.recall()), SAVED);
  assert.deepEqual(readdirSync(join(path, '..')), ['run.json']);
  assert.equal(statSync(path).mode & 0o777, 0o600);
  assert.match(readFileSync(path, 'utf8'), /"started_at":"1970-01-01T00:00:05Z"/);
  assert.ok(problems.every((problem) => problem === undefined));
});

test('a run whose start job is still queued is read back unchanged, whether or not its unit had run before', () => {
  for (const invocationBefore of ['', INVOCATION]) {
    const queued = {
      origin: 'systemd',
      invocationBefore,
      startJob: '/job/7',
      startedMs: 5_000,
    } as const;
    const saved: SavedRun = { record: { state: 'running', ...queued }, circumstances: CIRCUMSTANCES };
    assert.deepEqual(withoutUndefined(parseSaved(savedText(saved))), saved);
  }
});

test('a run is saved whatever stands at the path of the temporary file', async (t) => {
  const { directory, path, store, problems } = createStore(t);
  mkdirSync(join(path, '..'));
  const temporaryPath = `${path}.new`;
  const makeFifo = () => execFileSync('mkfifo', [temporaryPath]);
  const makeLink = () => symlinkSync(join(directory, 'elsewhere'), temporaryPath);
  const makeFile = () => writeFileSync(temporaryPath, 'half of a te');
  for (const makeObstacle of [makeFifo, makeLink, makeFile]) {
    makeObstacle();
    store.save(SAVED);
    await store.whenWritten();
    assert.deepEqual(withoutUndefined(await store.recall()), SAVED);
    assert.deepEqual(readdirSync(join(path, '..')), ['run.json']);
  }
  assert.equal(existsSync(join(directory, 'elsewhere')), false);
  assert.ok(problems.every((problem) => problem === undefined));
});

test('the wait for a disk that hangs is bounded', async (t) => {
  const { store, clock, path, problems } = createStore(t);
  // The manual clock reaches the deadline before the disk answers.
  const recalling = store.recall();
  clock.advance(READ_MAX_MS - 1);
  assert.equal(clock.timers, 1, 'the disk still has time');
  clock.advance(1);
  assert.equal(await recalling, undefined);
  assert.deepEqual(problems.splice(0), ['it is ignored: it cannot be read within 10 s']);

  store.save(SAVED);
  const waiting = store.whenWritten();
  // The wait ends at the deadline, but the write goes on.
  clock.advance(WRITE_MAX_MS);
  await waiting;
  assert.equal(existsSync(path), false, 'the wait has ended before the disk answered');
  await store.whenWritten();
  assert.deepEqual(problems, [undefined]);
  assert.deepEqual(withoutUndefined(await store.recall()), SAVED);
  assert.equal(clock.timers, 0);
});

test('a path that cannot be written is reported, and a later attempt saves the newest run', async (t) => {
  const { directory, path, store, problems, clock } = createStore(t);
  const obstacle = join(directory, 'deep');
  writeFileSync(obstacle, '');
  store.save({ ...SAVED, record: { state: 'running', origin: 'socket', startedMs: 1_000 } });
  await store.whenWritten();
  store.save(SAVED);
  await store.whenWritten();
  clock.advance(RETRY_PAUSE_MS);
  await store.whenWritten();
  assert.equal(existsSync(path), false);
  assert.equal(problems.length, 3, 'each save and the retry have failed');
  for (const problem of problems) assert.match(problem ?? '', /cannot be written/);

  rmSync(obstacle);
  clock.advance(RETRY_PAUSE_MS);
  await store.whenWritten();
  assert.equal(problems.at(-1), undefined);
  assert.deepEqual(withoutUndefined(await store.recall()), SAVED);
  assert.equal(clock.timers, 0);
});

test('a text without a valid run is ignored', () => {
  const good = savedText(SAVED);
  assert.deepEqual(withoutUndefined(parseSaved(good)), SAVED);
  const badTexts = {
    'text before the object': `x${good}`,
    'no end': good.replace(/}\n$/, ''),
    'an unknown state': good.replace('"failed"', '"broken"'),
    'no boot': good.replace('"boot":"boot",', ''),
    'a list': '[]',
    null: 'null',
    'an empty file': '',
    'a run that has no beginning': '{"state":"running","boot":"","manager":"","unit":""}',
  };
  for (const [what, text] of Object.entries(badTexts)) assert.equal(parseSaved(text), undefined, what);
});
