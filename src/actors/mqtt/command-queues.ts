// Decides when a command is carried out, and when a newer command replaces one that waits. Pure.

import { isDeepStrictEqual } from 'node:util';
import type { BridgeRequest } from '../../protocol/actor/messages.js';
import type { Result } from '../../protocol/actor/result.js';
import type { BrokerMessage } from './broker.js';

/**
 * At most this many requests wait in all queues together. People and home automations send fewer at a time.
 */
const WAITING_MAX = 256;
/**
 * The largest sum of the sizes of all waiting requests (`WaitingRequest.size`). A command of a person has
 * some hundred characters. But body, topic, response topic and correlation data may have 64 KiB each, so two
 * of the largest commands reach this sum. After parsing, a command needs up to 20 times its size in memory.
 */
const WAITING_SIZE_MAX = 512 * 1024;
/**
 * At most this many requests run at one time. A flood of commands may use any number of queues. Without this
 * bound, other clients of the node would not get their turn.
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
  /** The request chooses what later requests of its queue act on, such as the default output. */
  readonly isChoice?: boolean;
  /** Present if the request acts on what an earlier field of the same message chooses. */
  readonly behind?: BehindChoice;
}

/**
 * The member `field` of a message acts on what the earlier member `choice` of the same message chooses. In
 * `{"port": ..., "volume": ...}`, for instance, `choice` is `port` and `field` is `volume`.
 */
export interface BehindChoice {
  readonly field: string;
  readonly choice: string;
}

/** Where a command came from, and where its refusal goes. */
export type CommandSource = Pick<BrokerMessage, 'topic' | 'response'>;

export interface WaitingRequest extends QueuedRequest {
  readonly source: CommandSource;
  /** The characters of the whole message, and the bytes of its correlation data. */
  readonly size: number;
}

/** One request of each queue runs at a time. A flood of requests ends with the last value of each setting. */
export class CommandQueues {
  readonly #carryOut: (request: WaitingRequest) => Promise<Result<undefined, object>>;
  readonly #onDropped: (request: WaitingRequest, behind: BehindChoice) => void;
  /** The requests of all queues, oldest first. */
  readonly #waiting: WaitingRequest[] = [];
  /** The queues that have a running request. */
  readonly #busyQueues = new Set<string>();

  /**
   * `carryOut` runs a request. Its promise resolves when the request is done, and never rejects. The error is
   * a problem document. `onDropped` is called with each request that is dropped because its choice was
   * refused.
   */
  constructor(
    carryOut: (request: WaitingRequest) => Promise<Result<undefined, object>>,
    onDropped: (request: WaitingRequest, behind: BehindChoice) => void,
  ) {
    this.#carryOut = carryOut;
    this.#onDropped = onDropped;
  }

  /** False if the request is dropped, because too many wait already or too little memory is left for it. */
  add(request: WaitingRequest): boolean {
    if (this.#isTooMuch(request)) return false;
    if (this.#replaceRepeated(request)) return true;
    this.#dropReplaced(request);
    this.#waiting.push(request);
    this.#runWaiting();
    if (this.#waiting.length <= WAITING_MAX) return true;
    // More than `WAITING_MAX` requests wait only if this call has neither replaced nor started one. So the
    // new request is still the last.
    this.#waiting.pop();
    return false;
  }

  /** True if the request has to wait, but the others that wait leave too little memory for it. */
  #isTooMuch(request: WaitingRequest): boolean {
    const mustWait = this.#busyQueues.has(request.queue) || this.#busyQueues.size === RUNNING_MAX;
    if (!mustWait) return false;
    const replaced = this.#replacedBy(request);
    const others = this.#waiting.filter((waiting) => waiting !== replaced);
    const sizeOfOthers = others.reduce((sum, { size }) => sum + size, 0);
    return sizeOfOthers + request.size > WAITING_SIZE_MAX;
  }

  /**
   * If the last waiting choice of the queue is the same, the newer one takes its place. Returns false if
   * there is no such choice. Without this, a flood of `{"output": ..., "volume": ...}` would fill the queue:
   * a choice would wait between two volumes, so the second volume could not replace the first. If the choice
   * is refused later, the newer sender gets this refusal.
   */
  #replaceRepeated(newer: WaitingRequest): boolean {
    if (newer.isChoice !== true) return false;
    const isChoiceOfQueue = ({ isChoice, queue }: QueuedRequest) =>
      isChoice === true && queue === newer.queue;
    const index = this.#waiting.findLastIndex(isChoiceOfQueue);
    const older = this.#waiting[index];
    if (older === undefined || !isDeepStrictEqual(older.request, newer.request)) return false;
    this.#waiting[index] = newer;
    return true;
  }

  #dropReplaced(newer: QueuedRequest): void {
    const replaced = this.#replacedBy(newer);
    if (replaced !== undefined) this.#waiting.splice(this.#waiting.indexOf(replaced), 1);
  }

  /**
   * The waiting request that the newer one makes needless; undefined if there is none. The older request is
   * removed, and the newer one goes to the end. So the requests between the two are carried out before this
   * setting. In two cases this new order could, for instance, set the volume of another output. So in these
   * cases the result is undefined, and nothing is replaced:
   * - One of the requests between the two, in the same queue, is a choice.
   * - The newer request is a choice, and a request of the same queue is between the two.
   */
  #replacedBy(newer: QueuedRequest): WaitingRequest | undefined {
    if (newer.setting === undefined) return undefined;
    const index = this.#waiting.findLastIndex((older) => older.setting === newer.setting);
    if (index === -1) return undefined;
    const laterInQueue = this.#waiting.slice(index + 1).filter(({ queue }) => queue === newer.queue);
    const isBlocked = laterInQueue.some(({ isChoice }) => isChoice || newer.isChoice);
    return isBlocked ? undefined : this.#waiting[index];
  }

  #runWaiting(): void {
    while (this.#busyQueues.size < RUNNING_MAX) {
      const request = this.#waiting.find(({ queue }) => !this.#busyQueues.has(queue));
      if (request === undefined) return;
      this.#waiting.splice(this.#waiting.indexOf(request), 1);
      this.#busyQueues.add(request.queue);
      void this.#carryOut(request).then(({ ok }) => {
        this.#busyQueues.delete(request.queue);
        if (!ok && request.isChoice === true) this.#dropBehindChoice(request.queue);
        this.#runWaiting();
      });
    }
  }

  /**
   * To be called when a choice was refused. There are three kinds of requests that wait in its queue:
   * - A request with `behind` acts on the refused choice and would now change another output, so it is
   *   dropped. It may itself be a choice, as `default` is in `{"port": ..., "default": true}`. It may belong
   *   to an older message with the same choice (`#replaceRepeated`).
   * - A choice without `behind` ends the search, because the requests after it act on this other choice.
   * - Any other request does not depend on a choice of its message, and stays.
   */
  #dropBehindChoice(queueOfChoice: string): void {
    const waitingInQueue = this.#waiting.filter(({ queue }) => queue === queueOfChoice);
    for (const request of waitingInQueue) {
      const { behind, isChoice } = request;
      if (behind !== undefined) {
        this.#waiting.splice(this.#waiting.indexOf(request), 1);
        this.#onDropped(request, behind);
      } else if (isChoice === true) return;
    }
  }
}
