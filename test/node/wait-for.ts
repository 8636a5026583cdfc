// Waits for a condition that nobody announces.

import { setTimeout as pause } from 'node:timers/promises';

const POLL_MS = 40;

/** Resolves with the first value of `look` that is not undefined; rejects after the deadline, naming what was waited for. */
export async function waitFor<T>(
  what: string,
  deadlineMs: number,
  look: () => Promise<T | undefined> | T | undefined,
): Promise<T> {
  const end = Date.now() + deadlineMs;
  for (;;) {
    const value = await look();
    if (value !== undefined) return value;
    if (Date.now() > end) throw new Error(`not seen within ${deadlineMs} ms: ${what}`);
    await pause(POLL_MS);
  }
}
