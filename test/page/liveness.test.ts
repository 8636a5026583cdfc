// Tests how the page asks the node whether it still answers, and how it explains an absence. The test moves
// the clock.

import assert from 'node:assert/strict';
import { afterEach, beforeEach, mock, test } from 'node:test';
import {
  type AbsenceReason,
  type AnnouncedAbsence,
  absenceReason,
  IN_USE_MS,
  InputWatch,
  Liveness,
  type Situation,
} from '../../src/page/liveness.js';

beforeEach(() => {
  mock.timers.enable({ apis: ['setInterval', 'setTimeout', 'Date'] });
  mock.method(performance, 'now', () => Date.now());
});
afterEach(() => {
  mock.timers.reset();
  mock.restoreAll();
});

/** Resolves after this time, or rejects if the page gives the request up before. */
function answerAfter(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    setTimeout(resolve, ms);
    signal.addEventListener('abort', () => reject(signal.reason));
  });
}

const STEP_MS = 50;

/**
 * Starts a `Liveness`. Its requests are answered while `state.isAnswering` is true. `advance` moves the
 * clock in steps, calls `onStep` in each, and lets the answers come. `reported` is about a connected page.
 * `returnCount` is the number of calls of `onReturn`, which come after the connection was lost.
 */
function startLiveness({ answerDelayMs = 0 } = {}) {
  const state = {
    isAnswering: true,
    situation: 'watched' as Situation,
    answerDelayMs,
    requests: 0,
    reported: [] as ('silent' | 'answering')[],
    returnCount: 0,
  };
  const liveness = new Liveness({
    request: (signal) => {
      state.requests += 1;
      if (!state.isAnswering) return Promise.reject(new Error('no answer'));
      return state.answerDelayMs === 0 ? Promise.resolve() : answerAfter(state.answerDelayMs, signal);
    },
    situation: () => state.situation,
    onChange: (isAnswering) => state.reported.push(isAnswering ? 'answering' : 'silent'),
    onReturn: () => {
      state.returnCount += 1;
    },
  });
  liveness.startWatching();
  const advance = async (ms: number, onStep: () => void = () => undefined): Promise<void> => {
    for (let passedMs = 0; passedMs < ms; passedMs += STEP_MS) {
      mock.timers.tick(STEP_MS);
      onStep();
      for (let turns = 0; turns < 10; turns += 1) await Promise.resolve();
    }
  };
  return { state, liveness, advance };
}

test('a page in use sends two or three requests a second while no events arrive', async () => {
  const { state, advance } = startLiveness();
  await advance(10_000);
  assert.ok(state.requests >= 20 && state.requests <= 30, `${state.requests}`);
  assert.deepEqual(state.reported, []);
});

test('the page sends no request while events arrive, nor while it rests', async () => {
  const { state, liveness, advance } = startLiveness();
  await advance(5000, () => liveness.noteAlive());
  state.situation = 'resting';
  await advance(5000);
  assert.equal(state.requests, 0);
});

test('the page shows within a second that there is no answer, and that there is one again', async () => {
  const { state, liveness, advance } = startLiveness();
  // The silence may begin at any moment, so this time is arbitrary.
  await advance(730);
  // The page must show the loss within a second of this sign of life.
  liveness.noteAlive();

  state.isAnswering = false;
  await advance(950);
  assert.deepEqual(state.reported, ['silent']);

  await advance(5000);
  state.isAnswering = true;
  await advance(500);
  assert.deepEqual(state.reported, ['silent', 'answering']);
});

// Both delays are longer than `ANSWER_MS` of liveness.ts, and 2000 is longer than `FIRST_LATENCY_MS`, too.
for (const delayMs of [900, 2000]) {
  test(`a node whose answers take ${delayMs} ms is never shown as lost, and its end is noticed`, async () => {
    const { state, advance } = startLiveness({ answerDelayMs: delayMs });
    await advance(60_000);
    assert.deepEqual(state.reported, []);
    // Even a slow node gets a request every four seconds.
    assert.ok(state.requests >= 15, `${state.requests}`);
    state.isAnswering = false;
    await advance(10_000);
    assert.deepEqual(state.reported, ['silent']);
  });
}

test('the page reports a node that becomes slow as silent only once, and sends it frequent requests when it is quick again', async () => {
  const { state, advance } = startLiveness({ answerDelayMs: 10 });
  await advance(5000);
  state.answerDelayMs = 2000;
  await advance(20_000);
  assert.deepEqual(state.reported, ['silent', 'answering']);
  state.answerDelayMs = 10;
  await advance(20_000);
  const { requests: before } = state;
  await advance(10_000);
  const requests = state.requests - before;
  assert.ok(requests >= 20, `${requests}`);
});

test('a lost node whose answers take two seconds is found again', async () => {
  const { state, advance } = startLiveness({ answerDelayMs: 2000 });
  await advance(10_000);
  state.situation = 'lost';
  await advance(10_000);
  assert.equal(state.returnCount, 1);
});

test('a page that was suspended does not report a loss at once', async () => {
  const { state, advance } = startLiveness();
  await advance(1000);
  // The clock moves, but no timer fires, as if the browser had suspended the page.
  mock.timers.setTime(Date.now() + 60_000);
  await advance(200);
  assert.deepEqual(state.reported, []);
});

test('the page sends a lost node one request a second, and reports each return once', async () => {
  const { state, advance } = startLiveness();
  state.situation = 'lost';
  state.isAnswering = false;
  await advance(10_000);
  assert.ok(state.requests >= 8 && state.requests <= 11, `${state.requests}`);
  assert.equal(state.returnCount, 0);
  state.isAnswering = true;
  await advance(10_000);
  assert.equal(state.returnCount, 1);
  state.isAnswering = false;
  await advance(2000);
  state.isAnswering = true;
  await advance(2000);
  assert.equal(state.returnCount, 2);
});

test('a page is unused a minute after its last input, and in use again after the next input', () => {
  const page = new EventTarget();
  // The beginning of the watch counts as input.
  const input = new InputWatch(page);
  mock.timers.tick(61_000);
  assert.ok(input.idleMs > IN_USE_MS);
  page.dispatchEvent(new Event('pointerdown'));
  assert.equal(input.idleMs, 0);
});

const LOST_AT = 1_000_000;
const MINUTE_MS = 60_000;
const RUNNING = { run: { state: 'running' } } as const;

interface Row {
  readonly what: string;
  readonly announced?: AnnouncedAbsence['reason'];
  readonly isUpgrading?: true;
  /** The time since the node was lost. */
  readonly minutes: number;
  readonly expected?: AbsenceReason;
}

/**
 * A restart explains an absence for 1 minute, a reboot for 5, an upgrade for 30, and a power-off for ever
 * (`REASON_MS` in liveness.ts).
 */
const ROWS: readonly Row[] = [
  { what: 'nothing was announced', minutes: 0 },
  { what: 'the service ended', announced: 'restart', minutes: 0.5, expected: 'restart' },
  { what: 'the service ended, and does not come back', announced: 'restart', minutes: 2 },
  { what: 'the node reboots', announced: 'reboot', minutes: 4, expected: 'reboot' },
  { what: 'the node reboots for too long', announced: 'reboot', minutes: 6 },
  { what: 'the node was switched off', announced: 'poweroff', minutes: 60 * 24, expected: 'poweroff' },
  {
    what: 'the service ended in an upgrade',
    announced: 'restart',
    isUpgrading: true,
    minutes: 20,
    expected: 'upgrade',
  },
  {
    what: 'the node reboots in an upgrade',
    announced: 'reboot',
    isUpgrading: true,
    minutes: 1,
    expected: 'reboot',
  },
  { what: 'an upgrade runs, and nothing was announced', isUpgrading: true, minutes: 20, expected: 'upgrade' },
  { what: 'an upgrade runs for too long', isUpgrading: true, minutes: 40 },
];
for (const { what, announced, isUpgrading, minutes, expected } of ROWS) {
  const reasonText = expected === undefined ? 'no reason' : `the reason ${expected}`;
  test(`after ${minutes} minutes the page gives ${reasonText} if ${what}`, () => {
    const announcement = announced === undefined ? undefined : { reason: announced, at: LOST_AT };
    const upgrade = isUpgrading ? RUNNING : undefined;
    const reason = absenceReason(announcement, upgrade, LOST_AT, LOST_AT + minutes * MINUTE_MS);
    assert.equal(reason, expected);
  });
}
