// A child on demand has a thread only while commands come, and each command is answered as if it always had
// one.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ManualClock } from '../manual-clock.js';
import { type Supervised, type SupervisedOptions, startChildren } from './harness.js';

const IDLE_MS = 60_000;
/** No ping falls due within the minutes that a test takes from the clock. */
const NO_HEARTBEAT = { everyMs: 1_000_000_000, pongWithinMs: 1_000_000_000, idleBeats: 1 };
const RESTING = 'started on demand';
const THREW = /^thread ended: /;

/** A power backend that rests, and the clock of its minutes. */
function resting(
  t: Parameters<typeof startChildren>[0],
  options: SupervisedOptions = {},
): Supervised & { clock: ManualClock } {
  const clock = new ManualClock();
  const supervised = startChildren(
    t,
    { power: 'obedient' },
    { clock, heartbeat: NO_HEARTBEAT, onDemand: ['power'], ...options },
  );
  return { ...supervised, clock };
}

const isResting = ({ recorder }: Supervised) => recorder.now('power')?.detail === RESTING;

async function restsAgain(supervised: Supervised & { clock: ManualClock }): Promise<void> {
  await supervised.recorder.until(() => !isResting(supervised));
  supervised.clock.advance(IDLE_MS);
  await supervised.recorder.until(() => isResting(supervised));
}

test('a child on demand is up without a thread, and its first command starts a thread', async (t) => {
  const supervised = resting(t);
  assert.equal(isResting(supervised), true);
  assert.equal(supervised.recorder.now('power')?.state, 'up');
  const answers = await Promise.all([supervised.ask('power', 'who'), supervised.ask('power', 'who')]);
  assert.equal(answers[0]?.ok, true);
  assert.deepEqual(answers[0], answers[1], 'one thread answers both');
  assert.deepEqual(new Set(supervised.recorder.states('power')), new Set(['up']));
  assert.equal(isResting(supervised), false);
});

test('a minute without a command ends the thread, and the next command starts another one', async (t) => {
  const supervised = resting(t);
  const first = await supervised.ask('power', 'who');
  supervised.clock.advance(IDLE_MS - 1);
  assert.deepEqual(await supervised.ask('power', 'who'), first, 'each command begins the minute anew');
  supervised.clock.advance(IDLE_MS - 1);
  assert.deepEqual(await supervised.ask('power', 'who'), first);
  await restsAgain(supervised);
  const second = await supervised.ask('power', 'who');
  assert.equal(second.ok, true);
  assert.notDeepEqual(second, first);
  assert.equal(supervised.recorder.now('power')?.restarts, 0, 'no death is counted');
});

test('a command that comes while the thread ends is answered by the next thread', async (t) => {
  const supervised = resting(t);
  const first = await supervised.ask('power', 'who');
  supervised.clock.advance(IDLE_MS);
  const second = await supervised.ask('power', 'who');
  assert.equal(second.ok, true);
  assert.notDeepEqual(second, first);
});

test('a thread with a command under way does not end', async (t) => {
  const supervised = resting(t, { askWithinMs: 10 * IDLE_MS });
  await supervised.ask('power', 'who');
  const kept = supervised.ask('power', 'keep');
  supervised.clock.advance(IDLE_MS);
  assert.equal((await supervised.ask('power', 'release')).ok, true);
  assert.deepEqual(await kept, { ok: true, value: { text: '"kept"' } });
});

test('the thread of a child on demand is replaced when it dies, and ends when it is idle', async (t) => {
  const supervised = resting(t);
  const answer = await supervised.ask('power', 'throw');
  assert.equal(answer.ok ? '' : answer.error.fault, 'unavailable');
  // The wait before the restart is 0 ms of a clock that stands still.
  supervised.clock.advance(0);
  await supervised.recorder.untilState('power', 'up', 1);
  assert.match(supervised.recorder.healths.map(([, { detail }]) => detail ?? '').join('\n'), /thread ended/);
  await restsAgain(supervised);
  assert.equal((await supervised.ask('power', 'who')).ok, true);
});

test('the command that starts a thread gets a fault when that thread dies at its start', async (t) => {
  const supervised = startChildren(t, { power: 'throws-at-start' }, { onDemand: ['power'] });
  const answer = await supervised.ask('power', 'who');
  assert.equal(answer.ok ? '' : answer.error.fault, 'unavailable');
  assert.match(supervised.recorder.now('power')?.detail ?? '', THREW);
});

test('a child on demand stops with and without its thread', async (t) => {
  const idle = resting(t);
  await idle.supervisor.stop();
  assert.equal((await idle.ask('power', 'who')).ok, false, 'nothing starts behind a stop');
  const awake = resting(t);
  await awake.ask('power', 'who');
  await awake.supervisor.stop();
  assert.ok(awake.recorder.lines.some(({ message }) => message === 'stops as told'));
});
