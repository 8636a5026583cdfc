// The commands that wait: one queue for what must keep its order, one ask of each under way at a time. A setting that waits is forgotten when
// a newer one comes, so that a flood ends with the last value of each. Pure but for the asking, which is given.

import type { CommandAsk } from './commands.js';

/** Of all queues: more than people and houses ask at a time. */
const WAITING_MAX = 256;
/** At a time, of as many queues: a broker that floods names more than there are, and the gateway has others to serve. */
const UNDER_WAY_MAX = 16;

/** `topic` is the one that the command came by. */
export interface WaitingAsk extends CommandAsk {
  readonly topic: string;
}

export class CommandQueues {
  /** Carries an ask out; settles when it is done, and never rejects. */
  readonly #carryOut: (ask: WaitingAsk) => Promise<void>;
  /** By name, those that wait, in order; a queue is there while one of its asks waits or is under way. */
  readonly #queues = new Map<string, WaitingAsk[]>();
  /** Names of queues of which one is. */
  readonly #underWay = new Set<string>();
  #waiting = 0;

  constructor(carryOut: (ask: WaitingAsk) => Promise<void>) {
    this.#carryOut = carryOut;
  }

  /** False: too many wait already, and it is not taken. */
  take(ask: WaitingAsk): boolean {
    const queue = this.#queues.get(ask.queue) ?? [];
    const older = queue.findIndex(
      ({ supersedes }) => supersedes !== undefined && supersedes === ask.supersedes,
    );
    if (older >= 0) {
      queue.splice(older, 1);
      this.#waiting -= 1;
    }
    const canBegin = !this.#underWay.has(ask.queue) && this.#underWay.size < UNDER_WAY_MAX;
    if (!canBegin && this.#waiting >= WAITING_MAX) return false;
    queue.push(ask);
    this.#waiting += 1;
    this.#queues.set(ask.queue, queue);
    if (canBegin) void this.#run(ask.queue);
    return true;
  }

  async #run(name: string): Promise<void> {
    this.#underWay.add(name);
    for (let ask = this.#shift(name); ask !== undefined; ask = this.#shift(name)) {
      await this.#carryOut(ask);
    }
    this.#underWay.delete(name);
    this.#queues.delete(name);
    const next = [...this.#queues.keys()].find((other) => !this.#underWay.has(other));
    // Not awaited: in a flood without end each would wait for all that follow.
    if (next !== undefined) void this.#run(next);
  }

  #shift(name: string): WaitingAsk | undefined {
    const ask = this.#queues.get(name)?.shift();
    if (ask !== undefined) this.#waiting -= 1;
    return ask;
  }
}
