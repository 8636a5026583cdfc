// The requests without a reply, by tag, with their deadlines but without a clock. It knows no command.

import type { RequestError } from './outcome.js';
import type { Reader } from './reader.js';
import { NONE } from './wire.js';

export interface PendingRequest {
  readonly deadline: number;
  /** Reads the reply; the returned function delivers the value. Separate, so that a throwing receiver is no wire error. */
  decode(reader: Reader): () => void;
  fail(error: RequestError): void;
}

/** Marks the tag of a request that timed out: its late reply frees the tag and is dropped. */
export const LATE = 'late';

export class PendingRequests {
  readonly #max: number;
  /** LATE: given up by us, but the server may still answer, so the tag must not be used again. */
  readonly #byTag = new Map<number, PendingRequest | typeof LATE>();
  #lastTag = NONE - 1;

  /** `max`: tags in use, including those of timed-out requests, so that a server without replies fills it. */
  constructor(max: number) {
    this.#max = max;
  }

  get full(): boolean {
    return this.#byTag.size >= this.#max;
  }

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

  /** The request that waits for this tag's reply, and frees the tag; undefined if there is none. */
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
      // An earlier receiver may have ended the session, and with it this request.
      if (this.#byTag.get(tag) !== request) continue;
      this.#byTag.set(tag, LATE);
      request.fail({ kind: 'timeout' });
    }
  }

  /** Settles everything once; a receiver that looks again finds nothing. */
  settleAll(error: RequestError): void {
    const requests = [...this.#byTag.values()];
    this.#byTag.clear();
    for (const request of requests) if (request !== LATE) request.fail(error);
  }
}
