// Keeps each command of one child until the command has an answer. Decides how many commands may wait, and
// which of them must still be posted to the child's thread.

import { type Clock, within } from '../host/clock.js';
import type { ChildName } from '../protocol/actor/backends.js';
import type { Answer, Command } from '../protocol/actor/commands.js';
import { failure } from '../protocol/actor/faults.js';
import type { CommandMessage } from '../protocol/actor/messages.js';

/** At most this many commands of a child may wait for an answer. Further commands are refused. */
const PENDING_MAX = 256;

/** Posts a command to the child's thread. The thread's answer has the id of this message. */
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
   * Resolves with the answer that `settle` or `settleAll` gets, or with a fault at the deadline. If too many
   * commands wait already, it resolves with a fault at once. Without `post` the command is queued until
   * `postQueued` is called. If the deadline passes while the command is queued, the command is never posted.
   * The thread does not carry out a command that it receives after the deadline (actors/runtime.ts).
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
      const timeoutText = `The ${this.#child} backend gave no answer within ${this.#answerWithinMs / 1000} s`;
      return answer ?? failure('timeout', timeoutText);
    } finally {
      this.#pending.delete(id);
    }
  }

  /** Posts the commands that are still queued, oldest first. */
  postQueued(post: PostCommand): void {
    for (const pendingCommand of this.#pending.values()) {
      if (pendingCommand.isPosted) continue;
      pendingCommand.isPosted = true;
      post(pendingCommand.message);
    }
  }

  /** Answers the command `id`. After the command's deadline this has no effect. */
  settle(id: number, answer: Answer): void {
    this.#pending.get(id)?.resolve(answer);
  }

  settleAll(answer: Answer): void {
    for (const { resolve } of this.#pending.values()) resolve(answer);
  }
}
