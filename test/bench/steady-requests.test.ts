// Tests the latencies of requests at a steady rate, with answers that take as long as the test says.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { latenciesOf } from '../../bench/support/steady-requests.js';
import { ManualClock } from '../manual-clock.js';

const EVERY_MS = 5;

/**
 * Returns the latencies of requests that are due every 5 ms. `answersMs` has the time that each answer takes.
 * Each timer fires `lateMs` too late.
 */
function measure(answersMs: readonly number[], lateMs = 0): Promise<readonly number[]> {
  const clock = new ManualClock();
  const after = (ms: number, callback: () => void): (() => void) => {
    // The wait takes no real time, because the clock jumps to the end of the wait.
    clock.advance(ms + lateMs);
    queueMicrotask(callback);
    return () => undefined;
  };
  const answers = [...answersMs];
  const ask = async (): Promise<void> => clock.advance(answers.shift() ?? 0);
  return latenciesOf(ask, EVERY_MS, EVERY_MS * answersMs.length, { monotonic: clock.monotonic, after });
}

test('a slow answer counts for each request that it delays', async () => {
  const measured = await measure([1, 12, 1, 1, 1]);
  // The slow answer comes at 17 ms. The requests due at 10 and 15 ms are answered at 18 and 19 ms.
  assert.deepEqual(measured, [1, 12, 8, 4, 1]);
});

test('the delay of a timer that fires late is part of no latency', async () => {
  const lateMs = 2;
  assert.deepEqual(await measure([1, 1, 1, 1, 1], lateMs), [1, 1, 1, 1, 1]);
});
