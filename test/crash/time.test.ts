// Behaviour that takes minutes, with a clock that the test sets: the rest after too many deaths, and how seldom it wakes.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RESTARTS } from '../../src/supervisor/lifecycle.js';
import { ManualClock } from '../manual-clock.js';
import { stage, stageUp, THREW_AT_LOAD } from './harness.js';

test('after 5 deaths in 60 s a child is restarting, after the sixth it has failed and waits for 60 s', async (t) => {
  const clock = new ManualClock();
  const { witness } = stage(t, { audio: 'throws-at-load' }, { clock, restarts: RESTARTS });
  for (const [died, waitMs] of [0, 250, 500, 1000, 2000].entries()) {
    await witness.untilState('audio', 'restarting', died + 1);
    if (waitMs > 0) clock.advance(waitMs - 1);
    assert.equal(witness.now('audio')?.restarts, died + 1);
    clock.advance(waitMs > 0 ? 1 : 0);
  }
  await witness.untilState('audio', 'failed', 6);
  assert.match(witness.now('audio')?.detail ?? '', THREW_AT_LOAD);
  assert.match(witness.now('audio')?.detail ?? '', /; 6 deaths in 60 s$/);
  assert.equal(witness.now('audio')?.since, clock.date());
  clock.advance(59_999);
  assert.equal(witness.now('audio')?.state, 'failed');
  clock.advance(1);
  assert.equal(witness.now('audio')?.state, 'restarting');
  // The six have been forgotten: this death is the first.
  await witness.untilState('audio', 'restarting', 7);
});

test('at rest one timer is set; a round of pings sets a second one until all pongs are in', async (t) => {
  const clock = new ManualClock();
  const { witness, say } = await stageUp(t, { audio: 'obedient', power: 'obedient' }, { clock });
  await witness.untilState('power', 'up');
  await say('audio', 'who');
  assert.equal(clock.timers, 1);
  clock.advance(30_000);
  assert.equal(clock.timers, 2);
  await Promise.all([say('audio', 'who'), say('power', 'who')]);
  assert.equal(clock.timers, 1);
  clock.advance(10_000);
  assert.deepEqual(witness.states('audio'), ['connecting', 'up']);
});

test('a thread that is younger than a ping interval is not pinged', async (t) => {
  const clock = new ManualClock();
  const { witness, say } = await stageUp(t, { audio: 'obedient' }, { clock });
  clock.advance(1000);
  await say('audio', 'throw');
  clock.advance(0);
  await witness.untilState('audio', 'up', 1);
  clock.advance(29_000);
  assert.equal(clock.timers, 1);
});
