// Waiting for a condition that nobody announces, with a deadline. The only way in which tests do so.

import { setTimeout as delay } from 'node:timers/promises';

const POLL_MS = 25;
/**
 * Nobody waits for it where all is well, and a machine on which twenty processes want two cores needs most of
 * it.
 */
const DEADLINE_MS = 60_000;
/** Characters of a probe's error that are shown. */
const PRINTED_CHARS = 500;

/**
 * Asks `probe` until it answers with something other than undefined or false, and gives that answer. It is
 * asked a last time when the deadline has passed: on a machine that stood still until then it has not been
 * asked for as long.
 * @throws {Error} naming `what` when the deadline passes, and what the probe threw last
 */
export async function until<T>(
  what: string,
  probe: () => Promise<T | undefined | false> | T | undefined | false,
  deadlineMs = DEADLINE_MS,
): Promise<T> {
  const end = performance.now() + deadlineMs;
  for (;;) {
    const isLast = performance.now() >= end;
    let cause: unknown;
    try {
      const answer = await probe();
      if (answer !== undefined && answer !== false) return answer;
    } catch (error) {
      cause = error;
    }
    if (isLast) {
      const last = cause instanceof Error ? ` (${cause.message.slice(0, PRINTED_CHARS)})` : '';
      throw new Error(`waited ${deadlineMs} ms in vain: ${what}${last}`, { cause });
    }
    await delay(POLL_MS);
  }
}
