// A command from the broker makes one or more requests. This file decides when each request is carried out,
// and when a newer request replaces one that waits. Pure.

import { isDeepStrictEqual } from 'node:util';
import type { ChildRequest } from '../../protocol/actor/messages.js';
import type { Result } from '../../protocol/actor/result.js';
import type { BrokerMessage } from './broker.js';

/**
 * At most this many requests wait in all queues together. People and home automations send fewer at a time.
 */
const WAITING_MAX = 256;
/**
 * The sizes of all waiting requests (`WaitingRequest.size`) have at most this sum. A person's command has a
 * few hundred characters. But body, topic, response topic and correlation data may have 64 KiB each, so two
 * of the largest commands reach this sum. After parsing, a command needs up to 20 times its size in memory.
 */
const WAITING_SIZE_MAX = 512 * 1024;
/**
 * At most this many requests run at one time. A flood of commands may use any number of queues. Without this
 * bound, other clients of the node would have to wait until the flood is over.
 */
const RUNNING_MAX = 16;

export interface QueuedRequest {
  readonly request: ChildRequest;
  /** The requests of one queue run one after the other, in the order in which they arrived. */
  readonly queue: string;
  /**
   * A name for what the request sets. A newer request with the same setting replaces an older one that still
   * waits (`#replacedBy` has two exceptions). Absent if every request must be carried out.
   */
  readonly setting?: string;
  /** True if the request chooses what later requests of its queue act on, such as the default output. */
  readonly isChoice?: boolean;
  /** Present if the request acts on what an earlier member of the same message chooses. */
  readonly behind?: BehindChoice;
}

/**
 * The names of two members of one message. The member `field` acts on what the earlier member `choice`
 * chooses. In `{"port": ..., "volume": ...}`, for instance, `choice` is `port` and `field` is `volume`.
 */
export interface BehindChoice {
  readonly field: string;
  readonly choice: string;
}

/** The topic of a command, and the response topic for its refusal if the sender names one. */
export type CommandSource = Pick<BrokerMessage, 'topic' | 'response'>;

export interface WaitingRequest extends QueuedRequest {
  readonly source: CommandSource;
  /** The number of characters of the whole message, plus the number of bytes of its correlation data. */
  readonly size: number;
}

/** One request of each queue runs at a time. After a flood of requests, each setting has its newest value. */
export class CommandQueues {
  readonly #carryOut: (request: WaitingRequest) => Promise<Result<undefined, object>>;
  readonly #onDropped: (request: WaitingRequest, behind: BehindChoice) => void;
  /** The waiting requests of all queues, oldest first. */
  readonly #waiting: WaitingRequest[] = [];
  /** The queues that have a running request. */
  readonly #busyQueues = new Set<string>();

  /**
   * `carryOut` runs a request. Its promise resolves when the request is done, and never rejects. The error is
   * a problem document. `onDropped` is called with each request that is dropped because the choice on which
   * it acts was refused.
   */
  constructor(
    carryOut: (request: WaitingRequest) => Promise<Result<undefined, object>>,
    onDropped: (request: WaitingRequest, behind: BehindChoice) => void,
  ) {
    this.#carryOut = carryOut;
    this.#onDropped = onDropped;
  }

  /**
   * False if the queues refuse the request, because too many requests wait already or too little memory is
   * left for this one.
   */
  add(request: WaitingRequest): boolean {
    if (this.#lacksMemoryFor(request)) return false;
    if (this.#replaceRepeated(request)) return true;
    this.#dropReplaced(request);
    this.#waiting.push(request);
    this.#runWaiting();
    if (this.#waiting.length <= WAITING_MAX) return true;
    // More than `WAITING_MAX` requests wait only if this call has neither replaced nor started a request. So
    // the new request is still the last.
    this.#waiting.pop();
    return false;
  }

  /** True if the request has to wait, but the other waiting requests leave too little memory for it. */
  #lacksMemoryFor(request: WaitingRequest): boolean {
    const mustWait = this.#busyQueues.has(request.queue) || this.#busyQueues.size === RUNNING_MAX;
    if (!mustWait) return false;
    const replaced = this.#replacedBy(request);
    const others = this.#waiting.filter((waiting) => waiting !== replaced);
    const sizeOfOthers = others.reduce((sum, { size }) => sum + size, 0);
    return sizeOfOthers + request.size > WAITING_SIZE_MAX;
  }

  /**
   * If `newer` is a choice, and the last waiting choice of its queue is the same choice, `newer` takes the
   * place of the older one. Otherwise returns false. Without this rule, a flood of
   * `{"output": ..., "volume": ...}` would fill the queue: a choice would wait between two volumes, so the
   * second volume could not replace the first. If the choice is refused later, only the newer sender gets
   * the refusal.
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
   * The waiting request that `newer` replaces; undefined if there is none. `add` removes this older request,
   * and puts `newer` at the end. So the requests between the two run before `newer`. In two cases this order
   * could, for instance, set the volume of the wrong output. So in these cases nothing is replaced:
   * - A request between the two, in the same queue, is a choice.
   * - `newer` is a choice, and a request between the two is in the same queue.
   */
  #replacedBy(newer: QueuedRequest): WaitingRequest | undefined {
    if (newer.setting === undefined) return undefined;
    const index = this.#waiting.findLastIndex((older) => older.setting === newer.setting);
    if (index === -1) return undefined;
    const laterInQueue = this.#waiting.slice(index + 1).filter(({ queue }) => queue === newer.queue);
    const mustKeepOrder = laterInQueue.some(({ isChoice }) => isChoice || newer.isChoice);
    return mustKeepOrder ? undefined : this.#waiting[index];
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
   * - A choice without `behind` stays, and all requests after it stay, because they act on this other choice.
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
