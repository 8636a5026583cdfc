// Measures how long the answers to requests take that are due at a steady rate, one at a time. A request that
// had to wait for the answer before it counts from the time when it was due. Otherwise one slow answer would
// count once, and not for each request that it delays.

import type { Clock } from '../../src/host/clock.js';

/**
 * Milliseconds from when each request was due to its answer, in order. `ask` sends one request, and resolves
 * with its answer.
 */
export async function latenciesOf(
  ask: () => Promise<void>,
  everyMs: number,
  durationMs: number,
  clock: Pick<Clock, 'monotonic' | 'after'>,
): Promise<readonly number[]> {
  const latencies: number[] = [];
  const begunAt = clock.monotonic();
  for (let dueAt = begunAt; dueAt < begunAt + durationMs; dueAt += everyMs) {
    const waitMs = dueAt - clock.monotonic();
    if (waitMs > 0) await new Promise<void>((resolve) => clock.after(waitMs, resolve));
    // A timer that fires late delays the request, but that is no part of the answer.
    const sentOrDueAt = waitMs > 0 ? clock.monotonic() : dueAt;
    await ask();
    latencies.push(clock.monotonic() - sentOrDueAt);
  }
  return latencies;
}
