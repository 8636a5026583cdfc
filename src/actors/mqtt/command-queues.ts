// Queues of waiting commands: each queue keeps its order and runs one ask at a time. A waiting setting is dropped when a newer one comes,
// so that a flood ends with the last value of each. The caller provides the function that runs an ask.

import type { QueuedRequest } from './commands.js';

/** In all queues together: more than people and homes send at a time. */
const WAITING_MAX = 256;
/** Queues that run at a time: a flood may make up any number of names, and other clients must get their turn. */
const UNDER_WAY_MAX = 16;

export interface WaitingRequest extends QueuedRequest {
  readonly topic: string;
}

export class CommandQueues {
  /** Runs an ask; settles when it is done, and never rejects. */
  readonly #carryOut: (ask: WaitingRequest) => Promise<void>;
  /** The waiting asks by queue name, in order; a queue exists while one of its asks waits or runs. */
  readonly #queues = new Map<string, WaitingRequest[]>();
  readonly #underWay = new Set<string>();
  #waiting = 0;

  constructor(carryOut: (ask: WaitingRequest) => Promise<void>) {
    this.#carryOut = carryOut;
  }

  /** False if too many asks wait already; then this one is dropped. */
  take(ask: WaitingRequest): boolean {
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
    // Not awaited: in an endless flood this call would wait for all later queues.
    if (next !== undefined) void this.#run(next);
  }

  #shift(name: string): WaitingRequest | undefined {
    const ask = this.#queues.get(name)?.shift();
    if (ask !== undefined) this.#waiting -= 1;
    return ask;
  }
}
