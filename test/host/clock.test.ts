// Tests the waits before a lost peer is dialled again (docs/http-api.md, "Backends that are away"), and rate
// limits per second.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { backoffMs, RateLimit } from '../../src/host/clock.js';

/**
 * The wait doubles with each attempt, up to 30 s. The random number 1 shortens it by a quarter, 0.5 by an
 * eighth. The result is rounded.
 */
const ROWS: readonly [attempt: number, random: number, delayMs: number][] = [
  [0, 0, 0],
  [0, 0.99, 0],
  [-1, 0, 0],
  [1, 0, 250],
  [2, 0, 500],
  [3, 0, 1000],
  [4, 0, 2000],
  [7, 0, 16_000],
  [8, 0, 30_000],
  [9, 0, 30_000],
  [10_000, 0, 30_000],
  [1, 0.5, 219],
  [4, 0.5, 1750],
  [4, 1, 1500],
  [10_000, 1, 22_500],
];
for (const [attempt, random, delayMs] of ROWS) {
  test(`attempt ${attempt} with the random number ${random} waits ${delayMs} ms`, () =>
    assert.equal(backoffMs(attempt, random), delayMs));
}

test('a rate limit of 10 admits ten events in each window of a second, and never an eleventh', () => {
  const maxEvents = 10;
  const limit = new RateLimit(maxEvents);
  for (let nowMs = 0; nowMs < 60_000; nowMs += 100) assert.equal(limit.admit(nowMs), true);
  // A new window begins with the first event after a second. All ten events of the new window come at once.
  assert.equal(limit.admit(60_000, maxEvents), true);
  assert.equal(limit.admit(60_999), false);
  assert.equal(limit.admit(61_000, maxEvents), true);
});
