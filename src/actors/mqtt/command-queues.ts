// Commands that wait: one of each queue runs at a time, in order. A waiting setting is dropped when a newer one comes, so that a flood ends
// with the last value of each.

import type { QueuedRequest } from './commands.js';

/** In all queues together: more than people and homes send at a time. */
const WAITING_MAX = 256;
/** A flood may make up any number of queues, and other clients must get their turn. */
const UNDER_WAY_MAX = 16;

export interface WaitingRequest extends QueuedRequest {
  readonly topic: string;
}

export class CommandQueues {
  /** Runs a request; settles when it is done, and never rejects. */
  readonly #carryOut: (request: WaitingRequest) => Promise<void>;
  readonly #waiting: WaitingRequest[] = [];
  /** The queues that have a request under way. */
  readonly #busy = new Set<string>();

  constructor(carryOut: (request: WaitingRequest) => Promise<void>) {
    this.#carryOut = carryOut;
  }

  /** False if too many requests wait already; then this one is dropped. */
  take(request: WaitingRequest): boolean {
    const { supersedes } = request;
    const older = this.#waiting.findIndex(
      (each) => supersedes !== undefined && each.supersedes === supersedes,
    );
    if (older >= 0) this.#waiting.splice(older, 1);
    this.#waiting.push(request);
    this.#runWaiting();
    if (this.#waiting.length <= WAITING_MAX) return true;
    this.#waiting.pop();
    return false;
  }

  #runWaiting(): void {
    while (this.#busy.size < UNDER_WAY_MAX) {
      const at = this.#waiting.findIndex(({ queue }) => !this.#busy.has(queue));
      const [request] = at < 0 ? [] : this.#waiting.splice(at, 1);
      if (request === undefined) return;
      void this.#run(request);
    }
  }

  async #run(request: WaitingRequest): Promise<void> {
    this.#busy.add(request.queue);
    await this.#carryOut(request);
    this.#busy.delete(request.queue);
    this.#runWaiting();
  }
}
