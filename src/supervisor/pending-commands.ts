// The commands that wait for one child's answer. Each ends by an answer, a time-out or the child's death.
// It sends nothing itself and calls each `settle` once.

import type { Answer } from '../protocol/actor/commands.js';
import { failure } from '../protocol/actor/faults.js';

/** docs/http-api.md, "Limits": 504. Actors time out a little earlier, because their own fault is more exact. */
export const COMMAND_DEADLINE_MS = 10_000;
const WAITING_MAX = 256;

export type Settle = (answer: Answer) => void;

interface PendingCommand {
  readonly settle: Settle;
  readonly cancelTimer: () => void;
}

export class PendingCommands {
  readonly #waiting = new Map<number, PendingCommand>();
  readonly #arm: (id: number) => () => void;
  #lastId = 0;

  /** `arm` starts the deadline timer of a command and returns its cancel function. */
  constructor(arm: (id: number) => () => void) {
    this.#arm = arm;
  }

  /** The id for the answer; undefined, after `settle` was called with a fault, if too many commands wait already. */
  open(settle: Settle): number | undefined {
    if (this.#waiting.size >= WAITING_MAX) {
      settle(failure('unavailable', `${WAITING_MAX} commands wait for this backend already`));
      return undefined;
    }
    this.#lastId += 1;
    this.#waiting.set(this.#lastId, { settle, cancelTimer: this.#arm(this.#lastId) });
    return this.#lastId;
  }

  /** Ignores unknown ids: an answer may arrive after its deadline. */
  settle(id: number, answer: Answer): void {
    const waiting = this.#waiting.get(id);
    if (waiting === undefined) return;
    this.#waiting.delete(id);
    waiting.cancelTimer();
    waiting.settle(answer);
  }

  /** Settles all commands, oldest first. */
  settleAll(answer: Answer): void {
    for (const id of [...this.#waiting.keys()]) this.settle(id, answer);
  }
}
