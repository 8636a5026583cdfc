// The commands that wait for one child's answer. Every one of them ends: by answer, time-out or the child's death.
// It sends nothing itself and rejects nothing.

import type { Answer } from '../protocol/actor/commands.js';
import { failure } from '../protocol/actor/faults.js';

/** docs/http-api.md, "Limits": 504. Actors give up a little sooner, so that their own, more exact fault wins. */
export const ASK_DEADLINE_MS = 10_000;
const WAITING_MAX = 256;

export type Settle = (answer: Answer) => void;

interface Waiting {
  readonly settle: Settle;
  readonly cancelTimer: () => void;
}

export class Asks {
  readonly #waiting = new Map<number, Waiting>();
  readonly #arm: (id: number) => () => void;
  #lastId = 0;

  /** `arm` sets the deadline of a command and answers with its cancellation. */
  constructor(arm: (id: number) => () => void) {
    this.#arm = arm;
  }

  /** The id under which the answer will come; undefined, and `settle` called, when too many wait already. */
  open(settle: Settle): number | undefined {
    if (this.#waiting.size >= WAITING_MAX) {
      settle(failure('unavailable', `${WAITING_MAX} commands wait for this backend already`));
      return undefined;
    }
    this.#lastId += 1;
    this.#waiting.set(this.#lastId, { settle, cancelTimer: this.#arm(this.#lastId) });
    return this.#lastId;
  }

  /** An answer to nobody is normal: it came behind the deadline. */
  settle(id: number, answer: Answer): void {
    const waiting = this.#waiting.get(id);
    if (waiting === undefined) return;
    this.#waiting.delete(id);
    waiting.cancelTimer();
    waiting.settle(answer);
  }

  /** Ends all of them, oldest first. */
  settleAll(answer: Answer): void {
    for (const id of [...this.#waiting.keys()]) this.settle(id, answer);
  }
}
