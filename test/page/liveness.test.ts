// The page asks the node whether it still answers, and shows when it does not: by a clock that the test sets.
// And what explains an absence.

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

/** Resolves after that time, unless the page gives the request up before. */
function onItsWay(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    setTimeout(resolve, ms);
    signal.addEventListener('abort', () => reject(signal.reason));
  });
}

/**
 * A liveness whose requests are answered while `answers` is true; `after` advances the clock and lets the
 * answers come.
 */
function livenessOf(wayMs = 0) {
  const counts = { requests: 0, reported: [] as boolean[], returned: 0 };
  const state = { answers: true, situation: 'watched' as Situation, wayMs, ...counts };
  const liveness = new Liveness({
    request: (signal) => {
      state.requests += 1;
      if (!state.answers) return Promise.reject(new Error('no answer'));
      return state.wayMs === 0 ? Promise.resolve() : onItsWay(state.wayMs, signal);
    },
    situation: () => state.situation,
    onChange: (isAnswering) => state.reported.push(isAnswering),
    onReturn: () => {
      state.returned += 1;
    },
  });
  liveness.startWatching();
  const after = async (ms: number, each: () => void = () => undefined): Promise<void> => {
    for (let passed = 0; passed < ms; passed += 50) {
      mock.timers.tick(50);
      each();
      for (let turns = 0; turns < 10; turns += 1) await Promise.resolve();
    }
  };
  return { state, liveness, after };
}

test('the page sends two or three requests a second while it waits for answers', async () => {
  const { state, after } = livenessOf();
  await after(10_000);
  assert.ok(state.requests >= 20 && state.requests <= 30, `${state.requests}`);
  assert.deepEqual(state.reported, []);
});

test('the page sends no request while events arrive, nor while it rests', async () => {
  const { state, liveness, after } = livenessOf();
  await after(5000, () => liveness.noteAlive());
  state.situation = 'resting';
  await after(5000);
  assert.equal(state.requests, 0);
});

test('the page shows within a second that there is no answer, and that there is one again', async () => {
  const { state, liveness, after } = livenessOf();
  await after(730);
  liveness.noteAlive();
  state.answers = false;
  await after(950);
  assert.deepEqual(state.reported, [false]);
  await after(5000);
  state.answers = true;
  await after(500);
  assert.deepEqual(state.reported, [false, true]);
});

for (const wayMs of [900, 2000]) {
  test(`a node whose answers take ${wayMs} ms is never shown as lost, and its end is noticed`, async () => {
    const { state, after } = livenessOf(wayMs);
    await after(60_000);
    assert.deepEqual(state.reported, []);
    assert.ok(state.requests >= 15, `${state.requests}`);
    state.answers = false;
    await after(10_000);
    assert.deepEqual(state.reported, [false]);
  });
}

test('a way that becomes long is a loss until the page knows it, and none afterwards', async () => {
  const { state, after } = livenessOf(10);
  await after(5000);
  state.wayMs = 2000;
  await after(20_000);
  assert.deepEqual(state.reported, [false, true]);
  state.wayMs = 10;
  await after(20_000);
  const { requests } = state;
  await after(10_000);
  assert.ok(state.requests - requests >= 20, `${state.requests - requests}`);
});

test('a lost node is found again on a way of two seconds', async () => {
  const { state, after } = livenessOf(2000);
  await after(10_000);
  state.situation = 'lost';
  await after(10_000);
  assert.equal(state.returned, 1);
});

test('a page that was suspended itself sends a request first', async () => {
  const { state, after } = livenessOf();
  await after(1000);
  mock.timers.setTime(Date.now() + 60_000);
  await after(200);
  assert.deepEqual(state.reported, []);
});

test('the page sends a lost node one request a second, and reports its first answer once', async () => {
  const { state, after } = livenessOf();
  state.situation = 'lost';
  state.answers = false;
  await after(10_000);
  assert.ok(state.requests >= 8 && state.requests <= 11, `${state.requests}`);
  assert.equal(state.returned, 0);
  state.answers = true;
  await after(10_000);
  assert.equal(state.returned, 1);
  state.answers = false;
  await after(2000);
  state.answers = true;
  await after(2000);
  assert.equal(state.returned, 2);
});

test('a page rests a minute after the last input', () => {
  const page = new EventTarget();
  const input = new InputWatch(page);
  mock.timers.tick(61_000);
  assert.ok(input.idleMs > IN_USE_MS);
  page.dispatchEvent(new Event('pointerdown'));
  assert.equal(input.idleMs, 0);
});

const LOST_AT = 1_000_000;
const MINUTE_MS = 60_000;
const RUNNING = { run: { state: 'running' } } as const;

type Row = readonly [
  ...[what: string, announced: AnnouncedAbsence['reason'] | undefined, isUpgrading: boolean],
  ...[minutes: number, reason: AbsenceReason | undefined],
];
const ROWS: readonly Row[] = [
  ['nobody has asked for anything', undefined, false, 0, undefined],
  ['the service ended', 'restart', false, 0.5, 'restart'],
  ['the service ended, and does not come back', 'restart', false, 2, undefined],
  ['a reboot', 'reboot', false, 4, 'reboot'],
  ['a reboot that takes too long', 'reboot', false, 6, undefined],
  ['switched off', 'poweroff', false, 60 * 24, 'poweroff'],
  ['the service ends in an upgrade', 'restart', true, 20, 'upgrade'],
  ['an upgrade reboots', 'reboot', true, 1, 'reboot'],
  ['an upgrade without a word', undefined, true, 20, 'upgrade'],
  ['an upgrade that takes too long', undefined, true, 40, undefined],
];
for (const [what, announced, isUpgrading, minutes, reason] of ROWS) {
  test(`${what}, after ${minutes} minutes: ${reason ?? 'lost'}`, () => {
    const announcement = announced === undefined ? undefined : { reason: announced, at: LOST_AT };
    const upgrade = isUpgrading ? RUNNING : undefined;
    assert.equal(absenceReason(announcement, upgrade, LOST_AT, LOST_AT + minutes * MINUTE_MS), reason);
  });
}
