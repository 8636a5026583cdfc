// The state file is written whole, read back unchanged, and nobody waits for it longer than its limit.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  linkSync,
  lstatSync,
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

const SAVED: SavedRun = {
  record: { state: 'failed', origin: 'systemd', invocation: A, startedMs: 5_000, finishedMs: 9_000 },
  circumstances: HERE,
};

test('a run is saved whole, for the owner only, and read back', async (t) => {
  const { path, made, problems } = store(t);
  assert.deepEqual(await made.recall(), { ok: true, saved: undefined });
  for (let n = 0; n < 50; n++)
    made.save({ ...SAVED, record: { state: 'running', origin: 'socket', startedMs: n * 1000 } });
  made.save(SAVED);
  await made.settled();
  assert.deepEqual(await made.recall(), { ok: true, saved: SAVED });
  assert.deepEqual(readdirSync(join(path, '..')), ['run.json']);
  assert.equal(statSync(path).mode & 0o777, 0o600);
  assert.match(readFileSync(path, 'utf8'), /"started_at":"1970-01-01T00:00:05Z"/);
  assert.ok(problems.every((problem) => problem === undefined));
});

test('a run that is only queued is read back as queued', () => {
  for (const before of ['', A]) {
    const saved: SavedRun = {
      record: { state: 'running', origin: 'systemd', before, startJob: '/job/7', startedMs: 5_000 },
      circumstances: HERE,
    };
    assert.deepEqual(parseSaved(savedText(saved)), saved);
  }
});

test('anything in the place of the state file is replaced, for the owner only, and no link is followed', async (t) => {
  const { directory, path, made } = store(t);
  const other = join(directory, 'other');
  writeFileSync(other, 'of somebody else', { mode: 0o644 });
  mkdirSync(join(path, '..'));
  chmodSync(join(path, '..'), 0o777);
  for (const put of [
    () => symlinkSync(other, path),
    () => linkSync(other, path),
    () => writeFileSync(path, 'open', { mode: 0o666 }),
  ]) {
    rmSync(path, { force: true });
    put();
    made.save(SAVED);
    await made.settled();
    assert.ok(lstatSync(path).isFile());
    assert.equal(lstatSync(path).mode & 0o777, 0o600);
    assert.equal(readFileSync(other, 'utf8'), 'of somebody else');
  }
});

test('directories of the state file are made for the owner only, whatever the umask', async (t) => {
  const { path, made } = store(t);
  const umask = process.umask(0);
  t.after(() => process.umask(umask));
  made.save(SAVED);
  await made.settled();
  assert.equal(statSync(join(path, '..')).mode & 0o777, 0o700);
  assert.equal(statSync(path).mode & 0o777, 0o600);
});

test('anything in the place of the temporary file is no obstacle', async (t) => {
  const { directory, path, made, problems } = store(t);
  mkdirSync(join(path, '..'));
  const fresh = `${path}.new`;
  for (const put of [
    () => execFileSync('mkfifo', [fresh]),
    () => symlinkSync(join(directory, 'elsewhere'), fresh),
    () => writeFileSync(fresh, 'half of a te'),
  ]) {
    put();
    made.save(SAVED);
    await made.settled();
    assert.deepEqual(await made.recall(), { ok: true, saved: SAVED });
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
  assert.deepEqual(await recalling, { ok: false, problem: 'it cannot be read within 4 s' });
  made.save(SAVED);
  const late = made.settledInTime();
  clock.advance(1_000);
  await late;
  assert.deepEqual(problems, ['it cannot be written within 1 s']);
  assert.equal(existsSync(path), false);
  await made.settledInTime();
  assert.deepEqual(problems.slice(1), [undefined]);
  assert.deepEqual(await made.recall(), { ok: true, saved: SAVED });
  assert.equal(clock.timers, 0);
});

test('a place that cannot be written is reported and tried again, and the newest run is saved when it can be', async (t) => {
  const { directory, path, made, problems, clock } = store(t);
  const inTheWay = join(directory, 'deep');
  writeFileSync(inTheWay, '');
  made.save({ ...SAVED, record: { state: 'running', origin: 'socket', startedMs: 1_000 } });
  await made.settled();
  made.save(SAVED);
  await made.settled();
  clock.advance(10_000);
  await made.settled();
  assert.equal(existsSync(path), false);
  assert.equal(problems.length, 3);
  for (const problem of problems) assert.match(problem ?? '', /cannot be written/);
  rmSync(inTheWay);
  clock.advance(10_000);
  await made.settled();
  assert.equal(problems.at(-1), undefined);
  assert.deepEqual(await made.recall(), { ok: true, saved: SAVED });
  assert.equal(clock.timers, 0);
});

test('a file that does not hold a run is ignored', () => {
  const good = savedText(SAVED);
  assert.deepEqual(parseSaved(good), SAVED);
  for (const [from, to] of [
    [/^/, 'x'],
    [/}\n$/, ''],
    ['"failed"', '"broken"'],
    ['"systemd"', '"me"'],
    [A, 'xyz'],
    ['1970-01-01T00:00:05Z', 'then'],
    ['1970-01-01T00:00:05Z', '12'],
    ['1970-01-01T00:00:05Z', '1970-01-01'],
    ['1970-01-01T00:00:05Z', '+010000-01-01T00:00:00Z'],
    ['1970-01-01T00:00:05Z', '9999-12-31T23:59:59-00:01'],
    [/"invocation":"a*"/, '"before":"xyz"'],
    [/"invocation":"a*"/, '"job":7'],
    ['"boot":"boot",', ''],
    [/.*/s, '[]'],
    [/.*/s, 'null'],
    [/.*/s, ''],
    [/.*/s, '{"state":"running","boot":"","manager":"","unit":""}'],
  ] as const) {
    assert.equal(parseSaved(good.replace(from, to)), undefined, String(from));
  }
});
