// Ends the gateway: waits for answers and streams in order, within one deadline. Pure: parts and clock are arguments.

import type { Clock } from '../clock.js';

/** The share of the time for pending answers; the rest is for `bye` to reach slow readers. */
const ANSWERS_SHARE = 0.5;

export interface ShutdownParts {
  /** From then on new requests are refused. */
  readonly handler: { shutDown(): void };
  /** All three resolve when nothing is pending, at the latest after the given time; the last two cut what is left. */
  readonly replies: { settled(withinMs: number): Promise<void> };
  readonly streams: { bye(withinMs: number): Promise<void> };
  readonly server: { close(withinMs: number): Promise<void> };
  readonly clock: Clock;
}

/**
 * Resolves within `withinMs`, even if backends do not answer or clients do not read. Answers come first, because the SIGTERM
 * of a reboot may overtake logind's answer: `power.action` must precede `bye`. Streams are pending answers of the server too,
 * so streams and server share the remaining time.
 */
export async function shutDown(parts: ShutdownParts, withinMs: number): Promise<void> {
  const { handler, replies, streams, server, clock } = parts;
  const deadline = clock.monotonic() + withinMs;
  handler.shutDown();
  await replies.settled(withinMs * ANSWERS_SHARE);
  const leftMs = Math.max(0, deadline - clock.monotonic());
  await Promise.all([streams.bye(leftMs), server.close(leftMs)]);
}
