// Covers that do not come: who asks is answered in time, one is read at a time, and those that wait are bounded.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CoverReader } from '../../../src/actors/players/cover-reader.js';
import { NOTHING_KNOWN, withPlayer } from '../../../src/actors/players/facts.js';
import type { Answer } from '../../../src/protocol/actor/commands.js';
import { ManualClock } from '../../manual-clock.js';
import { until } from '../../until.js';

/** Its cover stands in the metadata, and is asked of the player. */
const PLAYER = {
  owner: ':1.7',
  facts: withPlayer(NOTHING_KNOWN, { Metadata: { 'mpris:artUrl': `data:,${'x'.repeat(10_000)}` } }),
};

const faultOf = (answer: Answer): string => (answer.ok ? 'none' : answer.fault);

test('a cover that does not come is answered after 4 s, one is read at a time, and more than 32 do not wait', async () => {
  const clock = new ManualClock();
  let calls = 0;
  const call = () => {
    calls += 1;
    return new Promise<never>(() => undefined);
  };
  const reader = new CoverReader({ call }, clock);
  const answers = Array.from({ length: 32 }, () => reader.answer(PLAYER, undefined));
  assert.equal(faultOf(await reader.answer(PLAYER, undefined)), 'timeout');
  await until('the first is read', () => calls > 0);
  assert.equal(calls, 1);
  clock.advance(3_999);
  assert.equal(clock.timers, 32);
  clock.advance(1);
  assert.deepEqual(new Set((await Promise.all(answers)).map(faultOf)), new Set(['timeout']));
});
