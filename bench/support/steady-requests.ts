// Measures how long answers take. The requests are due at a steady rate, and are sent one at a time. If a
// request had to wait for the answer to the previous one, its time begins when it was due. If its time began
// only when it was sent, one slow answer would count once, and not for each request that it delays.

import type { Clock } from '../../src/host/clock.js';

/**
 * The time of each answer in milliseconds, in the order of the requests. `ask` sends one request, and
 * resolves when its answer is there.
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
