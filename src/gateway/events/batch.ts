// The events of one publication, ready for many streams: bytes and waiting items are made once per distinct filter, at
// first need. It may not know who asks.

import { accepts, type Filter } from './filter.js';
import type { Part } from './parts.js';
import type { FramedEvent } from './ring.js';
import { type Waiting, waitingOf } from './waiting.js';

export interface Publication {
  readonly event: FramedEvent;
  readonly part: Part;
}

export class Batch {
  readonly #publications: readonly Publication[];
  readonly #bytes = new Map<Filter, Uint8Array | undefined>();
  readonly #waiting = new Map<Filter, readonly Waiting[]>();

  constructor(publications: readonly Publication[]) {
    this.#publications = publications;
  }

  /** The frames that pass `filter`, as one piece; undefined when none does. */
  bytesFor(filter: Filter): Uint8Array | undefined {
    if (!this.#bytes.has(filter)) {
      const frames = this.#passing(filter).map(({ event }) => event.frame);
      this.#bytes.set(filter, frames.length > 1 ? Buffer.concat(frames) : frames[0]);
    }
    return this.#bytes.get(filter);
  }

  waitingFor(filter: Filter): readonly Waiting[] {
    const known = this.#waiting.get(filter);
    if (known !== undefined) return known;
    const made = this.#passing(filter).flatMap(({ event, part }) => waitingOf(part, event.sequence));
    this.#waiting.set(filter, made);
    return made;
  }

  #passing(filter: Filter): readonly Publication[] {
    return this.#publications.filter(({ event }) => accepts(filter, event.bits));
  }
}
