// Tests when group-keeper.ts and listen-keeper.ts begin their work. group-keeper.test.ts and
// listen-keeper.test.ts test the work itself.

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
  // While the work is under way, an output comes, and then the server refuses something.
  schedule.onChange();
  schedule.onRefusal();
  clock.advance(10_000);

  assert.deepEqual(begunAtMs, [PAUSE_MS, 2 * PAUSE_MS]);
});
