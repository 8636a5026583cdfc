// What is kept for clients that come back: the last events, framed, which are read from here and not copied; and records that
// were removed and have not come back, with the last word on each. Pure and bounded.

import type { FramedEvent, QueueEntry } from './event.js';
import { ACTIONS_ONLY, accepts, type Filter } from './query.js';
import { type Backlog, PORTION_BYTES_MAX } from './queue.js';

/** Contract, section 5. */
const RING_EVENTS_MAX = 1024;
/**
 * A record may have 130 kB, and 1024 of them are more than a small node's whole memory. An ordinary event has 0.3 to
 * 3 kB, so this bound acts only when events are huge, as in a storm, which leaves so much behind; a client that it hurts gets a
 * snapshot, as for any expired id.
 */
const RING_BYTES_MAX = 4 * 1024 * 1024;
const TOMBSTONES_MAX = 1024;
/** In the bytes of a queue, where a removal weighs its words twice. */
const TOMBSTONE_BYTES_MAX = 2 * 1024 * 1024;

/** Some of all events: those in between are elsewhere. */
export class Ring {
  readonly #bytesMax: number;
  /** The event that came as number n, from 0, is at n modulo the length. */
  readonly #events: (FramedEvent | undefined)[] = [];
  #oldest = 0;
  #end = 0;
  #bytes = 0;
  #forgotten = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** What the frames weigh together. */
  get bytes(): number {
    return this.#bytes;
  }

  /** `event` has a higher sequence number than all before. */
  push(event: FramedEvent): void {
    if (this.#end - this.#oldest === RING_EVENTS_MAX) this.#forgetOldest();
    this.#events[this.#end % RING_EVENTS_MAX] = event;
    this.#end += 1;
    this.#bytes += event.frame.byteLength;
    while (this.#bytes > this.#bytesMax) this.#forgetOldest();
  }

  /** Whether none of its events after this sequence number is forgotten. */
  reaches(after: number): boolean {
    return after >= this.#forgotten;
  }

  /** The first event after a sequence number that is still here. */
  next(after: number): FramedEvent | undefined {
    let low = this.#oldest;
    let high = this.#end;
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      if ((this.#at(middle)?.sequence ?? 0) > after) high = middle;
      else low = middle + 1;
    }
    return low === this.#end ? undefined : this.#at(low);
  }

  #at(index: number): FramedEvent | undefined {
    return this.#events[index % RING_EVENTS_MAX];
  }

  #forgetOldest(): void {
    const oldest = this.#at(this.#oldest);
    this.#events[this.#oldest % RING_EVENTS_MAX] = undefined;
    this.#oldest += 1;
    this.#forgotten = oldest?.sequence ?? this.#forgotten;
    this.#bytes -= oldest?.frame.byteLength ?? 0;
  }
}

/** Two rings, so that what a client has missed does not depend on how much it did not want to hear (contract, section 5). */
export class History {
  readonly #states = new Ring(RING_BYTES_MAX);
  readonly #actions = new Ring(RING_BYTES_MAX);
  #newest = 0;

  /** The sequence number of the newest event; 0 before the first. */
  get newest(): number {
    return this.#newest;
  }

  /** `event` carries the sequence number that follows `newest`. */
  push(event: FramedEvent): void {
    const { sequence, bits, frame } = event;
    this.#newest = sequence;
    if (accepts(ACTIONS_ONLY, bits)) this.#actions.push(event);
    else this.#states.push({ sequence, bits, frame, entries: [] });
  }

  /** Those that hold what `filter` may let in. */
  ringsFor(filter: Filter): readonly Ring[] {
    return [
      ...(accepts(filter, ~ACTIONS_ONLY) ? [this.#states] : []),
      ...(accepts(filter, ACTIONS_ONLY) ? [this.#actions] : []),
    ];
  }

  /** The actions after a sequence number that are still here, in order. */
  actionsAfter(sequence: number): readonly FramedEvent[] {
    const found: FramedEvent[] = [];
    for (let event = this.#actions.next(sequence); event !== undefined; ) {
      found.push(event);
      event = this.#actions.next(event.sequence);
    }
    return found;
  }
}

/**
 * What a returning client missed: a place in the history, and no memory of its own however slowly the client reads.
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

/** The removals, for clients that were away too long for the ring. */
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
