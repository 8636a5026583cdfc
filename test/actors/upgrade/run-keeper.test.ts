// The keeper around the state machine: which lines begin runs, when silence ends one, and what outlives the daemon.

import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { ProgressEvent } from '../../../src/actors/upgrade/progress-line.js';
import { RunKeeper } from '../../../src/actors/upgrade/run-keeper.js';
import { parseSaved, type SavedRun, savedText } from '../../../src/actors/upgrade/run-record.js';
import { RunStore } from '../../../src/actors/upgrade/run-store.js';
import { NO_FACTS, type UnitFacts } from '../../../src/actors/upgrade/unit-facts.js';
import { waitFor } from '../../node/wait-for.js';

const A = 'a'.repeat(32);
const HERE = { boot: 'boot', manager: 'manager', unit: 'up.service' };
const BEGIN: ProgressEvent = { event: 'begin', total: 1 };
const END: ProgressEvent = { event: 'end', success: true };
const progress = (percent: number): ProgressEvent => ({ event: 'progress', percent, current: 1, step: 's' });
const AT_WORK: UnitFacts = { ...NO_FACTS, activeState: 'activating', subState: 'start', invocation: A };
const AT_REST: UnitFacts = { ...NO_FACTS, invocation: A };

interface Stage {
  readonly keeper: RunKeeper;
  readonly saved: SavedRun[];
  /** Monotonic ms. */
  now: number;
  /** What systemd says when it is asked; the question is open until `answer` is called. */
  answer(facts: UnitFacts | undefined): Promise<void>;
}

function stage(t: TestContext, saved?: SavedRun, quietMs?: number): Stage {
  const waiting: ((facts: UnitFacts | undefined) => void)[] = [];
  const all: SavedRun[] = [];
  const made = { now: 100_000 };
  const keeper = new RunKeeper(
    saved,
    HERE,
    {
      changed: () => undefined,
      save: (next) => all.push(next),
      askUnit: () => new Promise((resolve) => waiting.push(resolve)),
    },
    { now: () => made.now, monotonic: () => made.now },
    quietMs,
  );
  t.after(() => keeper.stop());
  const answer = async (facts: UnitFacts | undefined) => {
    waiting.shift()?.(facts);
    await Promise.resolve();
    await Promise.resolve();
  };
  return Object.assign(made, { keeper, saved: all, answer });
}

const state = ({ keeper: { run } }: Stage) => `${run.state} ${run.origin ?? '-'} ${run.percent ?? '-'}`;

test('lines wait until systemd has said that the unit rests', async (t) => {
  const on = stage(t);
  on.keeper.line(BEGIN, on.now);
  on.keeper.line(progress(5), on.now);
  assert.equal(state(on), 'idle - -');
  await on.answer(NO_FACTS);
  assert.equal(state(on), 'running socket 5');
});

test("the unit's own script may be quicker than the signal of its start", async (t) => {
  const on = stage(t);
  on.keeper.line(progress(5), on.now);
  await on.answer(AT_WORK);
  assert.equal(state(on), 'running systemd 5');
});

test('a whole run while systemd is being asked is not lost', async (t) => {
  const on = stage(t);
  for (const says of [BEGIN, progress(1), progress(2), END]) on.keeper.line(says, on.now);
  await on.answer(NO_FACTS);
  assert.equal(state(on), 'idle socket -');
  assert.equal(on.saved.length, 2);
});

test('lines wait for the bus to come back', async (t) => {
  const on = stage(t);
  on.keeper.line(progress(5), on.now);
  await on.answer(undefined);
  assert.equal(state(on), 'idle - -');
  on.keeper.read(AT_WORK, HERE);
  assert.equal(state(on), 'running systemd 5');
});

test('a connection of a finished systemd run begins nothing, and neither does one right behind it', async (t) => {
  const on = stage(t);
  const sinceMs = on.now;
  on.keeper.feed({ kind: 'unit', facts: AT_WORK });
  on.keeper.feed({ kind: 'unit', facts: AT_REST });
  assert.equal(state(on), 'idle systemd -');
  on.keeper.line(progress(5), sinceMs);
  on.keeper.line(progress(5), on.now + 999);
  await on.answer(NO_FACTS);
  assert.equal(state(on), 'idle systemd -');
  on.keeper.line(progress(5), on.now + 1_000);
  await on.answer(AT_REST);
  assert.equal(state(on), 'running socket 5');
});

test('silence ends a run of the socket, but not while somebody is connected', async (t) => {
  const connected = stage(t, undefined, 30);
  const left = stage(t, undefined, 30);
  for (const on of [connected, left]) {
    on.keeper.connections(1);
    on.keeper.line(BEGIN, on.now);
    await on.answer(NO_FACTS);
    on.now += 1_000;
  }
  left.keeper.connections(0);
  left.now += 29;
  left.keeper.line(progress(2), left.now);
  left.now += 30;
  // The timer of the one that is still connected began earlier: it has fired by then.
  await waitFor('the end of the run', 5_000, () => (left.keeper.run.state === 'failed' ? true : undefined));
  assert.equal(state(connected), 'running socket -');
});

const SOCKET_RUN = { state: 'running', origin: 'socket', startedMs: 5_000 } as const;

test('a run of the socket goes on over a restart of the daemon, not over one of the node', (t) => {
  assert.equal(state(stage(t, { record: SOCKET_RUN, circumstances: HERE })), 'running socket -');
  const after = stage(t, { record: SOCKET_RUN, circumstances: { ...HERE, boot: 'before' } });
  assert.equal(state(after), 'failed socket -');
});

test('a systemd run is judged by what it began under', (t) => {
  const record = { state: 'running', origin: 'systemd', startedMs: 5_000, invocation: A } as const;
  for (const [other, expected] of [
    [{}, 'idle systemd -'],
    [{ boot: 'before' }, 'failed systemd -'],
    [{ manager: 'before' }, 'failed systemd -'],
    [{ unit: 'other.service' }, 'failed systemd -'],
  ] as const) {
    const on = stage(t, { record, circumstances: { ...HERE, ...other } });
    on.keeper.read(NO_FACTS, HERE);
    assert.equal(state(on), expected);
    assert.deepEqual(on.saved.at(-1)?.circumstances, HERE);
  }
});

test('transitions are saved, progress is not', async (t) => {
  const on = stage(t);
  on.keeper.feed({ kind: 'unit', facts: AT_WORK });
  for (let n = 0; n < 100; n++) on.keeper.line(progress(n), on.now);
  on.keeper.feed({ kind: 'unit', facts: AT_REST });
  assert.deepEqual(
    on.saved.map(({ record }) => record.state),
    ['running', 'idle'],
  );
});

function store(t: TestContext) {
  const directory = mkdtempSync(join(tmpdir(), 'tonearm-state-'));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  const path = join(directory, 'deep', 'run.json');
  const problems: (string | undefined)[] = [];
  return { directory, path, problems, made: new RunStore(path, (problem) => problems.push(problem)) };
}

const SAVED: SavedRun = {
  record: { state: 'failed', origin: 'systemd', invocation: A, startedMs: 5_000, finishedMs: 9_000 },
  circumstances: HERE,
};

test('a run is saved whole, for the owner only, and recalled', async (t) => {
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

test('a place that cannot be written is said, and not tried for ever', async (t) => {
  const { directory, path, made, problems } = store(t);
  writeFileSync(join(directory, 'deep'), '');
  made.save(SAVED);
  await made.settled();
  assert.match(problems[0] ?? '', /cannot be written/);
  assert.equal(existsSync(path), false);
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
    ['"boot":"boot",', ''],
    [/.*/s, '[]'],
    [/.*/s, 'null'],
    [/.*/s, ''],
    [/.*/s, '{"state":"running","boot":"","manager":"","unit":""}'],
  ] as const) {
    assert.equal(parseSaved(good.replace(from, to)), undefined, String(from));
  }
});
