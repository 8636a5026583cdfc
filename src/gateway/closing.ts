// The end of the gateway: what ends in which order, within one deadline. Pure: the parts, the clock and the timers are arguments.

import type { Clock } from '../clock.js';
import type { PendingCount } from './pending-count.js';

/** The share of the time that answers under way may use up; what is left is for `bye` to reach those who read slowly. */
const ANSWERS_SHARE = 0.5;

export interface ClosingParts {
  /** Whatever comes from now on is refused. */
  readonly handler: { shutDown(): void };
  /** The answers that backends still owe. */
  readonly answers: PendingCount;
  /** Both resolve when nothing is left to wait for, at the latest after the given time, and cut what is left then. */
  readonly streams: { bye(withinMs: number): Promise<void> };
  readonly server: { close(withinMs: number): Promise<void> };
  readonly clock: Clock;
}

/**
 * Resolves within `withinMs`, whoever does not answer and whoever does not read. Answers come first, because the SIGTERM
 * of a reboot may overtake logind's answer to it: `power.action` comes before `bye`. Streams are answers under way too,
 * so they and the server's other answers share all the time that is left.
 */
export async function closeAll(parts: ClosingParts, withinMs: number): Promise<void> {
  const { handler, answers, streams, server, clock } = parts;
  const deadline = clock.monotonic() + withinMs;
  handler.shutDown();
  await answers.none(withinMs * ANSWERS_SHARE, clock);
  const leftMs = Math.max(0, deadline - clock.monotonic());
  await Promise.all([streams.bye(leftMs), server.close(leftMs)]);
}
