// Ends the gateway: waits for answers and streams in order, within one deadline. Pure: parts and clock are arguments.

import type { Clock } from '../clock.js';
import type { Backends } from '../protocol/actor/messages.js';

/** The share of the time for pending answers; the rest is for `bye` to reach slow readers. */
const ANSWERS_SHARE = 0.5;

export interface ShutdownParts {
  /** From then on new requests are refused. */
  readonly handler: { shutDown(): void };
  readonly answers: PendingCount;
  /** Both resolve when nothing is pending, at the latest after the given time, and cut what is left. */
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
  const { handler, answers, streams, server, clock } = parts;
  const deadline = clock.monotonic() + withinMs;
  handler.shutDown();
  await answers.none(withinMs * ANSWERS_SHARE, clock);
  const leftMs = Math.max(0, deadline - clock.monotonic());
  await Promise.all([streams.bye(leftMs), server.close(leftMs)]);
}

export class PendingCount {
  #count = 0;
  #onNone: () => void = () => undefined;

  up(): void {
    this.#count += 1;
  }

  down(): void {
    this.#count -= 1;
    if (this.#count === 0) this.#onNone();
  }

  /** Resolves when nothing is pending, at the latest after `deadlineMs`. Never rejects. Call it once. */
  none(deadlineMs: number, clock: Clock): Promise<void> {
    if (this.#count === 0) return Promise.resolve();
    return new Promise((resolve) => {
      const cancel = clock.after(deadlineMs, resolve);
      this.#onNone = () => {
        cancel();
        resolve();
      };
    });
  }
}

/** `backends`, with its pending answers counted in `pending`. */
export function countingBackends(backends: Backends, pending: PendingCount): Backends {
  return {
    ask: (backend, command) => {
      pending.up();
      return backends.ask(backend, command).finally(() => pending.down());
    },
    watchLevels: (isWatched) => backends.watchLevels(isWatched),
  };
}
