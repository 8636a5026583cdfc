// Records that were removed and have not come back, with the last word on each, for clients that were away. Pure and bounded.

import type { Occurrence } from './occurrence.js';
import { type Part, partsOf, slotOf } from './parts.js';

const TOMBSTONES_MAX = 1024;
const TOMBSTONE_BYTES_MAX = 1024 * 1024;

interface Tombstone {
  readonly sequence: number;
  readonly part: Part;
  readonly bytes: number;
}

export class Tombstones {
  /** In the order of the removals. */
  readonly #bySlot = new Map<string, Tombstone>();
  #bytes = 0;

  get size(): number {
    return this.#bySlot.size;
  }

  /** Takes note of `occurrence`, whose last event has this sequence number. */
  note(occurrence: Occurrence, sequence: number): void {
    if (occurrence.kind !== 'records') return;
    for (const record of occurrence.records) {
      const slot = slotOf(occurrence.collection, record.key);
      this.#forget(slot);
      if (!occurrence.removal) continue;
      for (const part of partsOf({ ...occurrence, records: [record] })) {
        const bytes = Buffer.byteLength(record.json);
        this.#bySlot.set(slot, { sequence, part, bytes });
        this.#bytes += bytes;
      }
    }
    this.#forgetExcess();
  }

  /** The removals after a sequence number, in order. */
  since(after: number): readonly Part[] {
    return [...this.#bySlot.values()].filter(({ sequence }) => sequence > after).map(({ part }) => part);
  }

  #forgetExcess(): void {
    for (const slot of this.#bySlot.keys()) {
      if (this.#bySlot.size <= TOMBSTONES_MAX && this.#bytes <= TOMBSTONE_BYTES_MAX) return;
      this.#forget(slot);
    }
  }

  #forget(slot: string): void {
    const tombstone = this.#bySlot.get(slot);
    if (tombstone === undefined) return;
    this.#bySlot.delete(slot);
    this.#bytes -= tombstone.bytes;
  }
}
