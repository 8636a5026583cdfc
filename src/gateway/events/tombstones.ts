// Records that were removed and have not come back, with the last word on each, for clients that were away. Pure and bounded.

import type { Occurrence } from './occurrence.js';
import { type Part, partsOf, slotOf } from './parts.js';

const TOMBSTONES_MAX = 1024;
const TOMBSTONE_BYTES_MAX = 1024 * 1024;

interface Tombstone {
  readonly slot: string;
  readonly json: string;
  readonly sequence: number;
  readonly part: Part;
  readonly bytes: number;
}

export class Tombstones {
  /** In the order of the removals. */
  readonly #all = new Set<Tombstone>();
  /** One slot may have had many records: a sound server that starts again counts anew. */
  readonly #bySlot = new Map<string, readonly Tombstone[]>();
  #bytes = 0;

  get size(): number {
    return this.#all.size;
  }

  /**
   * Takes note of `occurrence`, whose last event has this sequence number. A record has come back when its last words are
   * said again under its key; other words there may be of another record, with another name, and undo nothing.
   */
  note(occurrence: Occurrence, sequence: number): void {
    if (occurrence.kind !== 'records') return;
    for (const record of occurrence.records) {
      const slot = slotOf(occurrence.collection, record.key);
      this.#forget(this.#bySlot.get(slot)?.find(({ json }) => json === record.json));
      if (!occurrence.removal) continue;
      for (const part of partsOf({ ...occurrence, records: [record] })) {
        const bytes = Buffer.byteLength(record.json);
        this.#keep({ slot, json: record.json, sequence, part, bytes });
      }
    }
    this.#forgetExcess();
  }

  /** The removals after a sequence number, in order. */
  since(after: number): readonly Part[] {
    return [...this.#all].filter(({ sequence }) => sequence > after).map(({ part }) => part);
  }

  #keep(tombstone: Tombstone): void {
    this.#all.add(tombstone);
    this.#bySlot.set(tombstone.slot, [...(this.#bySlot.get(tombstone.slot) ?? []), tombstone]);
    this.#bytes += tombstone.bytes;
  }

  #forgetExcess(): void {
    for (const tombstone of this.#all) {
      if (this.#all.size <= TOMBSTONES_MAX && this.#bytes <= TOMBSTONE_BYTES_MAX) return;
      this.#forget(tombstone);
    }
  }

  #forget(tombstone: Tombstone | undefined): void {
    if (tombstone === undefined) return;
    const { slot, bytes } = tombstone;
    this.#all.delete(tombstone);
    const others = this.#bySlot.get(slot)?.filter((other) => other !== tombstone) ?? [];
    if (others.length === 0) this.#bySlot.delete(slot);
    else this.#bySlot.set(slot, others);
    this.#bytes -= bytes;
  }
}
