// Decides when a waiting command is carried out, and which one is dropped because a newer one sets the same
// thing. Pure.

import type { BridgeRequest } from '../../protocol/actor/messages.js';
import type { BrokerMessage } from './broker.js';

/** Requests that wait in all queues together. People and home automations send fewer at a time. */
const WAITING_MAX = 256;
/**
 * Requests that run at one time. Other clients of the node must get their turn, although a flood of commands
 * may use any number of queues.
 */
const RUNNING_MAX = 16;

export interface QueuedRequest {
  readonly request: BridgeRequest;
  /** The requests of one queue run one after the other, in the order in which they arrived. */
  readonly queue: string;
  /**
   * The thing that the request sets. A newer request for the same thing replaces one that still waits.
   * Absent if each request counts.
   */
  readonly supersedes?: string;
}

/** Where a command came from, and where its refusal goes. */
export type CommandSource = Pick<BrokerMessage, 'topic' | 'response'>;

export interface WaitingRequest extends QueuedRequest {
  readonly source: CommandSource;
}

/**
 * One request of each queue runs at a time. Because newer requests supersede waiting ones, a flood of them
 * ends with the last value of each setting.
 */
export class CommandQueues {
  readonly #carryOut: (request: WaitingRequest) => Promise<void>;
  /** The requests of all queues, oldest first. */
  readonly #waiting: WaitingRequest[] = [];
  /** The queues that have a running request. */
  readonly #busyQueues = new Set<string>();

  /** `carryOut` runs a request. Its promise resolves when the request is done, and never rejects. */
  constructor(carryOut: (request: WaitingRequest) => Promise<void>) {
    this.#carryOut = carryOut;
  }

  /** False if the request is dropped, because too many wait already. */
  add(request: WaitingRequest): boolean {
    this.#dropSuperseded(request.supersedes);
    this.#waiting.push(request);
    this.#runWaiting();
    if (this.#waiting.length <= WAITING_MAX) return true;
    // The request did not run, so it is still the last one of those that wait.
    this.#waiting.pop();
    return false;
  }

  #dropSuperseded(supersedes: string | undefined): void {
    if (supersedes === undefined) return;
    const index = this.#waiting.findIndex((older) => older.supersedes === supersedes);
    if (index >= 0) this.#waiting.splice(index, 1);
  }

  #runWaiting(): void {
    while (this.#busyQueues.size < RUNNING_MAX) {
      const index = this.#waiting.findIndex(({ queue }) => !this.#busyQueues.has(queue));
      const [request] = index < 0 ? [] : this.#waiting.splice(index, 1);
      if (request === undefined) return;
      this.#busyQueues.add(request.queue);
      void this.#carryOut(request).then(() => {
        this.#busyQueues.delete(request.queue);
        this.#runWaiting();
      });
    }
  }
}
