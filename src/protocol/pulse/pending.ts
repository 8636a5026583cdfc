// The requests that wait for a reply, by tag: an owner of deadlines without a clock. It knows no command.

import type { RequestError } from './outcome.js';
import type { Reader } from './reader.js';
import { NONE } from './wire.js';

export interface PendingRequest {
  readonly deadline: number;
  /** Reads the reply; what it returns hands the value over. Apart, so that a throwing receiver is no wire error. */
  decode(reader: Reader): () => void;
  fail(error: RequestError): void;
}

/** A reply came after the deadline: its tag is free again, and nobody wants the value. */
export const LATE = 'late';

export class PendingRequests {
  readonly #max: number;
  /** LATE: given up by us, but the server may still answer, so the tag must not be used anew. */
  readonly #byTag = new Map<number, PendingRequest | typeof LATE>();
  #lastTag = NONE - 1;

  /** `max`: tags in use, those of given-up requests included. A server that answers nothing so fills it. */
  constructor(max: number) {
    this.#max = max;
  }

  get full(): boolean {
    return this.#byTag.size >= this.#max;
  }

  /** The next tag that is not in use. */
  freeTag(): number {
    let tag = this.#lastTag;
    do {
      tag = (tag + 1) % NONE;
    } while (this.#byTag.has(tag));
    this.#lastTag = tag;
    return tag;
  }

  add(tag: number, request: PendingRequest): void {
    this.#byTag.set(tag, request);
  }

  /** Who waits for this tag's reply, and frees the tag; undefined: nobody ever asked. */
  take(tag: number): PendingRequest | typeof LATE | undefined {
    const found = this.#byTag.get(tag);
    this.#byTag.delete(tag);
    return found;
  }

  nextDeadline(): number | undefined {
    let next: number | undefined;
    for (const request of this.#byTag.values()) {
      if (request !== LATE && (next === undefined || request.deadline < next)) next = request.deadline;
    }
    return next;
  }

  expire(now: number): void {
    for (const [tag, request] of [...this.#byTag]) {
      if (request === LATE || request.deadline > now) continue;
      // A receiver before this one may have ended the session, and with it this request.
      if (this.#byTag.get(tag) !== request) continue;
      this.#byTag.set(tag, LATE);
      request.fail({ kind: 'timeout' });
    }
  }

  /** Settles everything, once: a receiver that looks again finds nothing. */
  settleAll(error: RequestError): void {
    const requests = [...this.#byTag.values()];
    this.#byTag.clear();
    for (const request of requests) if (request !== LATE) request.fail(error);
  }
}
