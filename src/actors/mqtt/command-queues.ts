// Queues of waiting commands: each queue keeps its order and runs one request at a time. A waiting setting is dropped when a newer one comes,
// so that a flood ends with the last value of each. The caller provides the function that runs a request.

import type { QueuedRequest } from './commands.js';

/** In all queues together: more than people and homes send at a time. */
const WAITING_MAX = 256;
/** Queues that run at a time: a flood may make up any number of names, and other clients must get their turn. */
const UNDER_WAY_MAX = 16;

export interface WaitingRequest extends QueuedRequest {
  readonly topic: string;
}

export class CommandQueues {
  /** Runs a request; settles when it is done, and never rejects. */
  readonly #carryOut: (request: WaitingRequest) => Promise<void>;
  /** The waiting requests by queue name, in order; a queue exists while one of its requests waits or runs. */
  readonly #queues = new Map<string, WaitingRequest[]>();
  readonly #underWay = new Set<string>();
  #waiting = 0;

  constructor(carryOut: (request: WaitingRequest) => Promise<void>) {
    this.#carryOut = carryOut;
  }

  /** False if too many requests wait already; then this one is dropped. */
  take(request: WaitingRequest): boolean {
    const queue = this.#queues.get(request.queue) ?? [];
    const older = queue.findIndex(
      ({ supersedes }) => supersedes !== undefined && supersedes === request.supersedes,
    );
    if (older >= 0) {
      queue.splice(older, 1);
      this.#waiting -= 1;
    }
    const canBegin = !this.#underWay.has(request.queue) && this.#underWay.size < UNDER_WAY_MAX;
    if (!canBegin && this.#waiting >= WAITING_MAX) return false;
    queue.push(request);
    this.#waiting += 1;
    this.#queues.set(request.queue, queue);
    if (canBegin) void this.#run(request.queue);
    return true;
  }

  async #run(name: string): Promise<void> {
    this.#underWay.add(name);
    for (let request = this.#shift(name); request !== undefined; request = this.#shift(name)) {
      await this.#carryOut(request);
    }
    this.#underWay.delete(name);
    this.#queues.delete(name);
    const next = [...this.#queues.keys()].find((other) => !this.#underWay.has(other));
    // Not awaited: in an endless flood this call would wait for all later queues.
    if (next !== undefined) void this.#run(next);
  }

  #shift(name: string): WaitingRequest | undefined {
    const request = this.#queues.get(name)?.shift();
    if (request !== undefined) this.#waiting -= 1;
    return request;
  }
}
