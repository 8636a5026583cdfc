// Waits, with a deadline, for a condition that no event announces. Tests poll in no other way.

import { setTimeout as delay } from 'node:timers/promises';

const POLL_MS = 25;
/**
 * A long deadline costs nothing where the condition becomes true. A machine on which twenty processes want
 * two cores may need most of these 60 s.
 */
export const DEADLINE_MS = 60_000;
/** Characters of a probe's error that are shown. */
const PRINTED_CHARS = 500;

/** Thrown by a probe whose condition cannot become true any more. `until` then rejects at once. */
export class Hopeless extends Error {}

/**
 * Calls `probe` until it returns something other than undefined or false, and returns that. `probe` is
 * called a last time after the deadline, because the call before may be long ago if the machine stood still.
 * @throws {Error} with `what`, and the message of the last call's error, if the deadline passes
 * @throws {Hopeless} what `probe` throws
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
      if (error instanceof Hopeless) throw error;
      cause = error;
    }
    if (isLast) {
      const last = cause instanceof Error ? ` (${cause.message.slice(0, PRINTED_CHARS)})` : '';
      throw new Error(`waited ${deadlineMs} ms in vain: ${what}${last}`, { cause });
    }
    await delay(POLL_MS);
  }
}
