// Decides when a command is carried out, and when a newer command replaces one that waits. Pure.

import type { BridgeRequest } from '../../protocol/actor/messages.js';
import type { BrokerMessage } from './broker.js';

/** Requests that wait in all queues together. People and home automations send fewer at a time. */
const WAITING_MAX = 256;
/**
 * Requests that run at one time. A flood of commands may use any number of queues. Without this bound, other
 * clients of the node would not get their turn.
 */
const RUNNING_MAX = 16;

export interface QueuedRequest {
  readonly request: BridgeRequest;
  /** The requests of one queue run one after the other, in the order in which they arrived. */
  readonly queue: string;
  /**
   * A name for what the request sets. A newer request with the same setting replaces one that still waits.
   * Absent if each request counts.
   */
  readonly setting?: string;
  /** The request makes this choice, such as the default output, on which later requests act. */
  readonly chooses?: string | undefined;
  /** The request acts on this choice. For instance, it sets the volume of the default output. */
  readonly actsOn?: string | undefined;
}

/** Where a command came from, and where its refusal goes. */
export type CommandSource = Pick<BrokerMessage, 'topic' | 'response'>;

export interface WaitingRequest extends QueuedRequest {
  readonly source: CommandSource;
}

/** One request of each queue runs at a time. A flood of requests ends with the last value of each setting. */
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
    this.#dropReplaced(request);
    this.#waiting.push(request);
    this.#runWaiting();
    if (this.#waiting.length <= WAITING_MAX) return true;
    // Before this call, `WAITING_MAX` requests waited, and now one more waits. So `#runWaiting` has started
    // none, and the new request is still the last.
    this.#waiting.pop();
    return false;
  }

  /**
   * A newer request goes to the end, so it passes the requests that came after the older one. It replaces
   * nothing if it would pass one that acts on its choice, or makes the choice that it acts on: a volume would
   * be set at another output.
   */
  #dropReplaced(newer: QueuedRequest): void {
    if (newer.setting === undefined) return;
    const index = this.#waiting.findLastIndex((older) => older.setting === newer.setting);
    const isBlocked = this.#waiting.slice(index + 1).some((between) => areDependent(between, newer));
    if (index >= 0 && !isBlocked) this.#waiting.splice(index, 1);
  }

  #runWaiting(): void {
    while (this.#busyQueues.size < RUNNING_MAX) {
      const request = this.#waiting.find(({ queue }) => !this.#busyQueues.has(queue));
      if (request === undefined) return;
      this.#waiting.splice(this.#waiting.indexOf(request), 1);
      this.#busyQueues.add(request.queue);
      void this.#carryOut(request).then(() => {
        this.#busyQueues.delete(request.queue);
        this.#runWaiting();
      });
    }
  }
}

function areDependent(one: QueuedRequest, other: QueuedRequest): boolean {
  const actsOnOther = one.actsOn !== undefined && one.actsOn === other.chooses;
  const otherActsOnIt = other.actsOn !== undefined && other.actsOn === one.chooses;
  return actsOnOther || otherActsOnIt;
}
