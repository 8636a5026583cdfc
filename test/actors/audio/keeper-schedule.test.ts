// Tests when the work of a keeper begins. group-keeper.test.ts and listen-keeper.test.ts test the keepers
// themselves.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { KeeperSchedule } from '../../../src/actors/audio/keeper-schedule.js';
import { ManualClock } from '../../manual-clock.js';

/** The pause between a change and the work (keeper-schedule.ts). After a refusal the pause is longer. */
const PAUSE_MS = 1_000;

test('a refusal does not delay the work for a change that came before the refusal', () => {
  const clock = new ManualClock();
  const begunAtMs: number[] = [];
  const schedule = new KeeperSchedule(clock, () => void begunAtMs.push(clock.monotonic()));

  schedule.onChange();
  clock.advance(PAUSE_MS);
  // The work takes a while. An output comes meanwhile, and then the server refuses something.
  schedule.onChange();
  schedule.onRefusal();
  clock.advance(10_000);

  assert.deepEqual(begunAtMs, [PAUSE_MS, 2 * PAUSE_MS]);
});
