// Tests when it is certain that a player has begun to play, and which other players are silenced then. These
// tests need no bus.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Beginning } from '../../../src/actors/players/beginning.js';
import { RepeatedReading } from '../../../src/actors/players/repeated-reading.js';
import { playersToSilence } from '../../../src/actors/players/silence.js';
import { ManualClock } from '../../manual-clock.js';
import { settle } from '../units/scripted-manager.js';

test('the player that began last is not silenced, even if it is not certain yet that it has begun', () => {
  const certain = { published: { isPlaying: true }, beginning: new Beginning() };
  const uncertain = { published: { isPlaying: true }, beginning: new Beginning() };
  // No reading confirms that the player `uncertain` plays.
  const readings = { begunReadings: 1, isSettledSince: () => false };
  uncertain.beginning.note(readings);
  const uncertainBeganMs = 20;
  assert.equal(uncertain.beginning.takeCertain(readings, uncertainBeganMs), undefined);
  /** The players that are silenced if `certain` began at this time. */
  const silencedBy = (certainBeganMs: number) =>
    playersToSilence([certain, uncertain], certain, certainBeganMs);
  assert.deepEqual(silencedBy(uncertainBeganMs - 10), []);
  assert.deepEqual(silencedBy(uncertainBeganMs + 10), [uncertain]);
});

/** The pause between two readings. */
const PAUSE_MS = 100;

/** Readings of a player. The first one is under way. `endReading` ends the reading that is under way. */
function startReadings() {
  const clock = new ManualClock();
  const ends: ((isAnswered: boolean) => void)[] = [];
  const readings = new RepeatedReading(clock, PAUSE_MS, () => new Promise((resolve) => ends.push(resolve)));
  const endReading = async (outcome: 'answered' | 'failed'): Promise<void> => {
    ends.pop()?.(outcome === 'answered');
    await settle();
  };
  return { clock, readings, endReading };
}

test('if a reading under way fails after a signal, the signal is believed without another reading', async () => {
  const { readings, endReading } = startReadings();
  const { begunReadings } = readings;
  // A signal comes during the reading, so another reading is requested (player.ts).
  readings.request();
  assert.equal(readings.isSettledSince(begunReadings), false);
  await endReading('failed');
  // After a failure the next reading may take long, so the signal counts without it.
  assert.equal(readings.isSettledSince(begunReadings), true);
});

test('if a reading under way is answered after a signal, the signal is believed only after another reading', async () => {
  const { clock, readings, endReading } = startReadings();
  const { begunReadings } = readings;
  // A signal comes during the reading, so another reading is requested (player.ts).
  readings.request();
  await endReading('answered');
  assert.equal(readings.isSettledSince(begunReadings), false);
  clock.advance(PAUSE_MS);
  assert.equal(readings.isSettledSince(begunReadings), false);
  await endReading('answered');
  assert.equal(readings.isSettledSince(begunReadings), true);
});
