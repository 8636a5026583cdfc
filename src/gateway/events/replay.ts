// What a returning client missed: a place in the ring, and no memory of its own however slowly the client reads.

import { type Backlog, PORTION_BYTES_MAX } from './backlog.js';
import { accepts, type Filter } from './filter.js';
import type { Ring } from './ring.js';

/**
 * Events published while the replay is under way stand in the ring behind it, so there is neither gap nor duplicate.
 * A client so slow that the ring overtakes it has lost actions that nobody can bring back: its stream ends, and the id
 * that it returns with has expired, which is answered with a snapshot.
 */
export class Replay implements Backlog {
  readonly #ring: Ring;
  readonly #filter: Filter;
  #after: number;

  constructor(ring: Ring, filter: Filter, after: number) {
    this.#ring = ring;
    this.#filter = filter;
    this.#after = after;
  }

  get drained(): boolean {
    return this.#after === this.#ring.newest;
  }

  add(): boolean {
    return true;
  }

  take(): Uint8Array | 'overtaken' | undefined {
    if (this.#ring.reach(this.#after) !== 'replayable') return 'overtaken';
    const frames: Uint8Array[] = [];
    let size = 0;
    while (this.#after < this.#ring.newest && size < PORTION_BYTES_MAX) {
      this.#after += 1;
      const event = this.#ring.get(this.#after);
      if (event === undefined || !accepts(this.#filter, event.bits)) continue;
      frames.push(event.frame);
      size += event.frame.byteLength;
    }
    return frames.length === 0 ? undefined : Buffer.concat(frames);
  }
}
