// A child on demand has a thread only while commands come, and its clients notice nothing of that.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ManualClock } from '../manual-clock.js';
import { type Stage, type StageOptions, stage } from './harness.js';

const IDLE_MS = 60_000;
/** No ping falls due within the minutes that a test takes from the clock. */
const NO_HEARTBEAT = { everyMs: 1_000_000_000, pongWithinMs: 1_000_000_000, idleBeats: 1 };
const RESTING = 'started on demand';
const THREW = /^thread ended: /;

/** A power backend that rests, and the clock of its minutes. */
function resting(t: Parameters<typeof stage>[0], options: StageOptions = {}): Stage & { clock: ManualClock } {
  const clock = new ManualClock();
  const staged = stage(
    t,
    { power: 'obedient' },
    { clock, heartbeat: NO_HEARTBEAT, onDemand: ['power'], ...options },
  );
  return { ...staged, clock };
}

const isResting = ({ witness }: Stage) => witness.now('power')?.detail === RESTING;

async function restsAgain(staged: Stage & { clock: ManualClock }): Promise<void> {
  await staged.witness.until(() => !isResting(staged));
  staged.clock.advance(IDLE_MS);
  await staged.witness.until(() => isResting(staged));
}

test('a child on demand is up without a thread, and its first command starts one', async (t) => {
  const staged = resting(t);
  assert.equal(isResting(staged), true);
  assert.equal(staged.witness.now('power')?.state, 'up');
  const answers = await Promise.all([staged.say('power', 'who'), staged.say('power', 'who')]);
  assert.equal(answers[0]?.ok, true);
  assert.deepEqual(answers[0], answers[1], 'one thread answers both');
  assert.deepEqual(new Set(staged.witness.states('power')), new Set(['up']));
  assert.equal(isResting(staged), false);
});

test('a minute without a command ends the thread, and the next command starts another one', async (t) => {
  const staged = resting(t);
  const first = await staged.say('power', 'who');
  staged.clock.advance(IDLE_MS - 1);
  assert.deepEqual(await staged.say('power', 'who'), first, 'each command begins the minute anew');
  staged.clock.advance(IDLE_MS - 1);
  assert.deepEqual(await staged.say('power', 'who'), first);
  await restsAgain(staged);
  const second = await staged.say('power', 'who');
  assert.equal(second.ok, true);
  assert.notDeepEqual(second, first);
  assert.equal(staged.witness.now('power')?.restarts, 0, 'no death is counted');
});

test('a command that comes while the thread ends is answered by the next thread', async (t) => {
  const staged = resting(t);
  const first = await staged.say('power', 'who');
  staged.clock.advance(IDLE_MS);
  const second = await staged.say('power', 'who');
  assert.equal(second.ok, true);
  assert.notDeepEqual(second, first);
});

test('a thread with a command under way does not end', async (t) => {
  const staged = resting(t, { askWithinMs: 10 * IDLE_MS });
  await staged.say('power', 'who');
  const kept = staged.say('power', 'keep');
  staged.clock.advance(IDLE_MS);
  assert.equal((await staged.say('power', 'release')).ok, true);
  assert.deepEqual(await kept, { ok: true, text: '"kept"' });
});

test('a thread that dies on demand is replaced, and rests when it is idle', async (t) => {
  const staged = resting(t);
  const answer = await staged.say('power', 'throw');
  assert.equal(answer.ok ? '' : answer.fault, 'unavailable');
  // The wait before the restart is 0 ms of a clock that stands still.
  staged.clock.advance(0);
  await staged.witness.untilState('power', 'up', 1);
  assert.match(staged.witness.healths.map(([, { detail }]) => detail ?? '').join('\n'), /thread ended/);
  await restsAgain(staged);
  assert.equal((await staged.say('power', 'who')).ok, true);
});

test('a thread that dies at its start is a fault of the command that started it', async (t) => {
  const staged = stage(t, { power: 'throws-at-start' }, { onDemand: ['power'] });
  const answer = await staged.say('power', 'who');
  assert.equal(answer.ok ? '' : answer.fault, 'unavailable');
  assert.match(staged.witness.now('power')?.detail ?? '', THREW);
});

test('a child on demand stops with and without its thread', async (t) => {
  const idle = resting(t);
  await idle.supervisor.stop();
  assert.equal((await idle.say('power', 'who')).ok, false, 'nothing starts behind a stop');
  const awake = resting(t);
  await awake.say('power', 'who');
  await awake.supervisor.stop();
  assert.ok(awake.witness.lines.some(({ message }) => message === 'stops as told'));
});
