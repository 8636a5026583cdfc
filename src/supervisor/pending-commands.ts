// The commands of one child that have no answer yet: decides how many there may be, how long each may take,
// and which of them are still to be posted to the thread. It knows no thread.

import { type Clock, within } from '../host/clock.js';
import type { ChildName } from '../protocol/actor/backends.js';
import type { Answer, Command } from '../protocol/actor/commands.js';
import { failure } from '../protocol/actor/faults.js';

/** How many commands may wait for an answer. Further commands are refused. */
const PENDING_MAX = 256;

/** Posts a command to the thread, which answers with the same id. */
export type PostCommand = (id: number, command: Command) => void;

interface PendingCommand {
  readonly command: Command;
  readonly resolve: (answer: Answer) => void;
  isPosted: boolean;
}

export class PendingCommands {
  readonly #child: ChildName;
  readonly #clock: Clock;
  readonly #withinMs: number;
  /** By id, oldest first. */
  readonly #pending = new Map<number, PendingCommand>();
  #lastId = 0;

  constructor(child: ChildName, clock: Clock, withinMs: number) {
    this.#child = child;
    this.#clock = clock;
    this.#withinMs = withinMs;
  }

  get isEmpty(): boolean {
    return this.#pending.size === 0;
  }

  /**
   * Resolves with the answer of the thread, or with a fault at the deadline. Without `post` the command is
   * queued until `postQueued`; if its deadline passes before that, it is never posted.
   */
  async add(command: Command, post: PostCommand | undefined): Promise<Answer> {
    if (this.#pending.size >= PENDING_MAX)
      return failure('unavailable', `${PENDING_MAX} commands wait for this backend already`);
    this.#lastId += 1;
    const id = this.#lastId;
    const settled = new Promise<Answer>((resolve) => {
      this.#pending.set(id, { command, resolve, isPosted: post !== undefined });
    });
    try {
      post?.(id, command);
      const answer = await within(this.#clock, this.#withinMs, settled);
      const late = `The ${this.#child} backend gave no answer within ${this.#withinMs / 1000} s`;
      return answer ?? failure('timeout', late);
    } finally {
      this.#pending.delete(id);
    }
  }

  /** Posts the commands that were added without `post`, oldest first. */
  postQueued(post: PostCommand): void {
    for (const [id, pending] of this.#pending) {
      if (pending.isPosted) continue;
      pending.isPosted = true;
      post(id, pending.command);
    }
  }

  /** Has no effect after the command's deadline, when nobody waits for the answer any more. */
  settle(id: number, answer: Answer): void {
    this.#pending.get(id)?.resolve(answer);
  }

  settleAll(answer: Answer): void {
    for (const { resolve } of this.#pending.values()) resolve(answer);
  }
}
