// Decides in which order the gateway ends what is open: first answers, then event streams, then connections.

import type { Clock } from '../host/clock.js';

/** Pending answers get this share of the time. In the rest the event `bye` must reach slow readers. */
const ANSWERS_SHARE = 0.5;

export interface ShutdownParts {
  /** Refuses new requests. Resolves when the earlier ones are answered, or after the time. */
  readonly handler: { shutDown(withinMs: number): Promise<void> };
  /** Resolves when `bye` has reached all streams. Streams that do not take it within the time are cut. */
  readonly streams: { bye(withinMs: number): Promise<void> };
  /** Cuts all connections that are left. */
  readonly server: { close(): void };
  readonly clock: Clock;
}

/**
 * Resolves within `withinMs`, even if backends do not answer or clients do not read. Streams end after the
 * answers, because an answer may bring an event. If a client has commanded a reboot, SIGTERM may come before
 * logind has answered. The event `power.action` is published with logind's answer, and must precede `bye`.
 */
export async function shutDown(
  { handler, streams, server, clock }: ShutdownParts,
  withinMs: number,
): Promise<void> {
  const deadline = clock.monotonic() + withinMs;
  await handler.shutDown(withinMs * ANSWERS_SHARE);
  await streams.bye(Math.max(0, deadline - clock.monotonic()));
  server.close();
}
