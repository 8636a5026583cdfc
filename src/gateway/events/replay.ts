// What a returning client missed: a place in the history, and no memory of its own however slowly the client reads.

import { type Backlog, PORTION_BYTES_MAX } from './backlog.js';
import { accepts, type Filter } from './filter.js';
import type { FramedEvent, History, Ring } from './ring.js';

/**
 * Events published while the replay is under way stand in the rings behind it, so there is neither gap nor duplicate.
 * A client so slow that a ring overtakes it is not told every step any more: its stream ends, and the id
 * that it returns with has expired, which is answered with a snapshot.
 */
export class Replay implements Backlog {
  readonly #rings: readonly Ring[];
  readonly #filter: Filter;
  #after: number;

  constructor(history: History, filter: Filter, after: number) {
    this.#rings = history.ringsFor(filter);
    this.#filter = filter;
    this.#after = after;
  }

  get drained(): boolean {
    return this.#next() === undefined;
  }

  add(): boolean {
    return true;
  }

  take(): Uint8Array | 'overtaken' | undefined {
    if (!this.#rings.every((ring) => ring.reaches(this.#after))) return 'overtaken';
    const frames: Uint8Array[] = [];
    let size = 0;
    while (size < PORTION_BYTES_MAX) {
      const event = this.#next();
      if (event === undefined) break;
      this.#after = event.sequence;
      if (!accepts(this.#filter, event.bits)) continue;
      frames.push(event.frame);
      size += event.frame.byteLength;
    }
    return frames.length === 0 ? undefined : Buffer.concat(frames);
  }

  /** In the order in which it happened, whichever ring it is in. */
  #next(): FramedEvent | undefined {
    let first: FramedEvent | undefined;
    for (const ring of this.#rings) {
      const next = ring.next(this.#after);
      if (next !== undefined && (first === undefined || next.sequence < first.sequence)) first = next;
    }
    return first;
  }
}
