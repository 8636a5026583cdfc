// Decides in which order the gateway shuts down. It first waits for pending answers, then ends the event
// streams, and then cuts the connections.

import type { Clock } from '../host/clock.js';

/** Pending answers get this share of `withinMs`. The rest is for sending the event `bye` to slow readers. */
const ANSWERS_SHARE = 0.5;

export interface ShutdownParts {
  /** Refuses new requests. Resolves when the earlier ones are answered, or after `withinMs`. */
  readonly handler: { shutDown(withinMs: number): Promise<void> };
  /**
   * Sends the event `bye` on all streams, and resolves when they have ended. Streams that have not accepted
   * `bye` after `withinMs` are cut.
   */
  readonly streams: { bye(withinMs: number): Promise<void> };
  /** Cuts all connections that are left. */
  readonly server: { close(): void };
  readonly clock: Clock;
}

/**
 * Resolves within `withinMs`, even if backends do not answer or clients do not read. Streams end after the
 * answers, because an answer may come with an event. For example, a client has commanded a reboot, and
 * SIGTERM comes before logind has answered. The event `power.action` is published with logind's answer, and
 * must precede `bye`.
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
