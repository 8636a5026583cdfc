// Keeps the commands of one child that have no answer yet. Decides how many there may be, and which of them
// must still be posted to the thread.

import { type Clock, within } from '../host/clock.js';
import type { ChildName } from '../protocol/actor/backends.js';
import type { Answer, Command } from '../protocol/actor/commands.js';
import { failure } from '../protocol/actor/faults.js';
import type { CommandMessage } from '../protocol/actor/messages.js';

/** How many commands may wait for an answer. Further commands are refused. */
const PENDING_MAX = 256;

/** Posts a command to the thread, which answers with the same id. */
export type PostCommand = (message: CommandMessage<Command>) => void;

interface PendingCommand {
  readonly message: CommandMessage<Command>;
  readonly resolve: (answer: Answer) => void;
  isPosted: boolean;
}

export class PendingCommands {
  readonly #child: ChildName;
  readonly #clock: Clock;
  readonly #answerWithinMs: number;
  /** By id, oldest first. */
  readonly #pending = new Map<number, PendingCommand>();
  #lastId = 0;

  constructor(child: ChildName, clock: Clock, answerWithinMs: number) {
    this.#child = child;
    this.#clock = clock;
    this.#answerWithinMs = answerWithinMs;
  }

  get isEmpty(): boolean {
    return this.#pending.size === 0;
  }

  /**
   * Resolves with the answer of the thread, or with a fault at the deadline. Without `post` the command is
   * queued until `postQueued`. If its deadline passes while it is queued, it is never posted. The thread
   * drops a command that it takes up after the deadline (actors/runtime.ts).
   */
  async add(command: Command, post: PostCommand | undefined): Promise<Answer> {
    if (this.#pending.size >= PENDING_MAX)
      return failure('unavailable', `${PENDING_MAX} commands wait for this backend already`);
    this.#lastId += 1;
    const id = this.#lastId;
    const deadline = this.#clock.monotonic() + this.#answerWithinMs;
    const message = { kind: 'command', id, command, deadline } as const;
    const answered = new Promise<Answer>((resolve) => {
      this.#pending.set(id, { message, resolve, isPosted: post !== undefined });
    });
    try {
      post?.(message);
      const answer = await within(this.#clock, this.#answerWithinMs, answered);
      const noAnswer = `The ${this.#child} backend gave no answer within ${this.#answerWithinMs / 1000} s`;
      return answer ?? failure('timeout', noAnswer);
    } finally {
      this.#pending.delete(id);
    }
  }

  /** Posts the commands that were added without `post`, oldest first. */
  postQueued(post: PostCommand): void {
    for (const pending of this.#pending.values()) {
      if (pending.isPosted) continue;
      pending.isPosted = true;
      post(pending.message);
    }
  }

  /** After the command's deadline an answer has no effect. */
  settle(id: number, answer: Answer): void {
    this.#pending.get(id)?.resolve(answer);
  }

  settleAll(answer: Answer): void {
    for (const { resolve } of this.#pending.values()) resolve(answer);
  }
}
