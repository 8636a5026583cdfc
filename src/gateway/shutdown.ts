// The end of the gateway: what is waited for, in which order, within one deadline. Pure: the parts and the clock are arguments.

import type { Clock } from '../clock.js';
import type { Backend } from '../protocol/actor/backends.js';
import type { Answer, Command } from '../protocol/actor/commands.js';
import type { Backends } from '../protocol/actor/messages.js';

/** The share of the time that answers under way may use up; what is left is for `bye` to reach those who read slowly. */
const ANSWERS_SHARE = 0.5;

export interface ShutdownParts {
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
export async function shutDown(parts: ShutdownParts, withinMs: number): Promise<void> {
  const { handler, answers, streams, server, clock } = parts;
  const deadline = clock.monotonic() + withinMs;
  handler.shutDown();
  await answers.none(withinMs * ANSWERS_SHARE, clock);
  const leftMs = Math.max(0, deadline - clock.monotonic());
  await Promise.all([streams.bye(leftMs), server.close(leftMs)]);
}

/** Counts what is still to come, and waits until nothing is. */
export class PendingCount {
  #count = 0;
  readonly #waiting = new Set<() => void>();

  up(): void {
    this.#count += 1;
  }

  /** Once for each `up`. */
  down(): void {
    this.#count -= 1;
    if (this.#count > 0) return;
    for (const settle of this.#waiting) settle();
  }

  /** Resolves when nothing is pending, at the latest after `deadlineMs`. Never rejects. */
  none(deadlineMs: number, clock: Clock): Promise<void> {
    if (this.#count === 0) return Promise.resolve();
    return new Promise((resolve) => {
      const settle = (): void => {
        cancel();
        this.#waiting.delete(settle);
        resolve();
      };
      const cancel = clock.after(deadlineMs, settle);
      this.#waiting.add(settle);
    });
  }
}

/** The backends as they are asked; `pending` gets the answers that are still to come. */
export function counting(backends: Backends, pending: PendingCount): Backends {
  return {
    ask: async <B extends Backend>(backend: B, command: Command<B>): Promise<Answer> => {
      pending.up();
      try {
        return await backends.ask(backend, command);
      } finally {
        pending.down();
      }
    },
    watchLevels: (isWatched) => backends.watchLevels(isWatched),
  };
}
