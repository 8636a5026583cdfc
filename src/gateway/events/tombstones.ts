// Records that were removed and have not come back, with the last word on each, for clients that were away. Pure and bounded.

import type { QueueEntry } from './event.js';

const TOMBSTONES_MAX = 1024;
/** In the bytes of a queue, where a removal weighs its words twice. */
const TOMBSTONE_BYTES_MAX = 2 * 1024 * 1024;

export class Tombstones {
  /** In the order of the removals. */
  readonly #all = new Set<QueueEntry>();
  /** One slot may have had many records: a sound server that starts again counts anew. */
  readonly #bySlot = new Map<string, readonly QueueEntry[]>();
  #bytes = 0;

  /**
   * Takes note of an event. A record has come back when its last words are said again under its key; other words there may be
   * of another record, with another name, and undo nothing.
   */
  note(removal: boolean, entries: readonly QueueEntry[]): void {
    for (const entry of entries) {
      const { slot, json } = entry;
      if (slot === undefined) continue;
      this.#forget(this.#bySlot.get(slot)?.find((tombstone) => tombstone.json === json));
      if (!removal) continue;
      this.#all.add(entry);
      this.#bySlot.set(slot, [...(this.#bySlot.get(slot) ?? []), entry]);
      this.#bytes += entry.bytes;
    }
    for (const oldest of this.#all) {
      if (this.#all.size <= TOMBSTONES_MAX && this.#bytes <= TOMBSTONE_BYTES_MAX) return;
      this.#forget(oldest);
    }
  }

  /** The removals after a sequence number, in order. */
  since(after: number): readonly QueueEntry[] {
    return [...this.#all].filter(({ sequence }) => sequence > after);
  }

  #forget(tombstone: QueueEntry | undefined): void {
    if (tombstone?.slot === undefined) return;
    const { slot, bytes } = tombstone;
    this.#all.delete(tombstone);
    const others = this.#bySlot.get(slot)?.filter((other) => other !== tombstone) ?? [];
    if (others.length === 0) this.#bySlot.delete(slot);
    else this.#bySlot.set(slot, others);
    this.#bytes -= bytes;
  }
}
