// The commands that wait: one queue for what must keep its order, one ask of each under way at a time. A setting that waits is forgotten when
// a newer one comes, so that a flood ends with the last value of each. Pure but for the asking, which is given.

import type { CommandAsk } from './commands.js';

/** Of all queues: more than people and houses ask at a time. */
const WAITING_MAX = 256;

/** `topic` is the one that the command came by. */
export interface WaitingAsk extends CommandAsk {
  readonly topic: string;
}

export class CommandQueues {
  /** Carries an ask out; settles when it is done, and never rejects. */
  readonly #carryOut: (ask: WaitingAsk) => Promise<void>;
  /** By name, those that wait, in order; a queue is there while one of its asks is under way. */
  readonly #queues = new Map<string, WaitingAsk[]>();
  #waiting = 0;

  constructor(carryOut: (ask: WaitingAsk) => Promise<void>) {
    this.#carryOut = carryOut;
  }

  /** False: too many wait already, and it is not taken. */
  take(ask: WaitingAsk): boolean {
    const queue = this.#queues.get(ask.queue);
    if (queue === undefined) {
      this.#queues.set(ask.queue, []);
      void this.#run(ask);
      return true;
    }
    const older = queue.findIndex(
      ({ supersedes }) => supersedes !== undefined && supersedes === ask.supersedes,
    );
    if (older >= 0) {
      queue.splice(older, 1);
      this.#waiting -= 1;
    }
    if (this.#waiting >= WAITING_MAX) return false;
    queue.push(ask);
    this.#waiting += 1;
    return true;
  }

  async #run(first: WaitingAsk): Promise<void> {
    for (let ask: WaitingAsk | undefined = first; ask !== undefined; ask = this.#shift(first.queue)) {
      await this.#carryOut(ask);
    }
    this.#queues.delete(first.queue);
  }

  #shift(name: string): WaitingAsk | undefined {
    const ask = this.#queues.get(name)?.shift();
    if (ask !== undefined) this.#waiting -= 1;
    return ask;
  }
}
