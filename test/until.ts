// Waiting for a condition that nobody announces, with a deadline. The only way in which tests do so.

import { setTimeout as delay } from 'node:timers/promises';

const POLL_MS = 25;
const DEADLINE_MS = 15_000;

/**
 * Asks `probe` until it answers with something other than undefined or false, and gives that answer.
 * @throws {Error} naming `what` when the deadline passes, with the last error of the probe as its cause.
 */
export async function until<T>(
  what: string,
  probe: () => Promise<T | undefined | false> | T | undefined | false,
  deadlineMs = DEADLINE_MS,
): Promise<T> {
  const end = performance.now() + deadlineMs;
  let cause: unknown;
  while (performance.now() < end) {
    try {
      const answer = await probe();
      if (answer !== undefined && answer !== false) return answer;
      cause = undefined;
    } catch (error) {
      cause = error;
    }
    await delay(POLL_MS);
  }
  throw new Error(`waited ${deadlineMs} ms in vain: ${what}`, { cause });
}
