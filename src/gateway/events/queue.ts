// What waits for one consumer that reads slowly: the newest word on each record, every removal and every action. Pure.
//
// Invariant: what a slow consumer is sent is a subsequence of what happened, in the order in which it happened; missing is
// only what a later event about the same record supersedes. A removal supersedes what waits of its record, and is itself
// superseded by nothing but the same words said again. A superseding event therefore goes to the end instead of
// taking the old one's place. This is what makes ids safe: an event with id N is written only when everything up to N has
// been written, or is superseded by an event after N, which a consumer that breaks off here will find when it resumes.
// The price: a record that never stops changing may be told late; its last word always comes.

import {
  dataOf,
  encode,
  eventId,
  type FramedEvent,
  frame,
  type QueueEntry,
  type StreamEvent,
} from './event.js';
import { accepts, type Filter } from './query.js';

/** Contract, section 5: over this the stream is closed, and its client comes back with Last-Event-ID. */
export const QUEUE_BYTES_MAX = 1024 * 1024;
/** What the kernel does not take of a write stays in user memory, so no single write is much larger than this. */
export const PORTION_BYTES_MAX = 64 * 1024;
/** About what slot, field names, id and type of one event weigh. It also bounds the number of tiny events. */
export const ENTRY_OVERHEAD_BYTES = 96;

/** What is still owed to a consumer, as its stream sees it: a queue, or a replay of the ring. */
export interface Backlog {
  /** Nothing is owed any more. */
  readonly drained: boolean;
  /** Owes those of the events that pass its filter too. False: that is more than may wait. */
  add(events: readonly FramedEvent[]): boolean;
  /** Hands over the next portion to be written. `overtaken`: what is owed no longer exists. */
  take(): Uint8Array | 'overtaken' | undefined;
}

/** The records of one event, each waiting for itself. */
export function entriesOf(event: StreamEvent, sequence: number): readonly QueueEntry[] {
  const { type, bits, listed, removal } = event;
  const reached = { states: sequence - 1, actions: sequence - 1 };
  return event.records.map(({ slot, json }) => {
    const key = keyOf(slot, removal, json, sequence);
    // The key of a removal holds its words too.
    const bytes = Buffer.byteLength(json) * (removal ? 2 : 1) + ENTRY_OVERHEAD_BYTES;
    return { key, slot, sequence, reached, type, bits, listed, json, bytes };
  });
}

/**
 * A removal has a key of its own for each last word on its slot. A sound server that starts again counts anew, so the next
 * record under a key is another one with another name, and clients know records by their names (contract, section 2).
 */
function keyOf(slot: string | undefined, removal: boolean, json: string, sequence: number): string {
  if (slot === undefined) return `#${sequence}`;
  return removal ? `-${slot}/${json}` : slot;
}

export class Queue implements Backlog {
  readonly #boot: string;
  readonly #filter: Filter;
  /** By key, in the order of `sequence`: a map keeps the order of insertion. */
  readonly #entries = new Map<string, QueueEntry>();
  #bytes = 0;

  /** `entries` pass the filter. */
  constructor(boot: string, filter: Filter, entries: readonly QueueEntry[] = []) {
    this.#boot = boot;
    this.#filter = filter;
    this.#put(entries);
  }

  get drained(): boolean {
    return this.#entries.size === 0;
  }

  add(events: readonly FramedEvent[]): boolean {
    for (const { bits, entries } of events) if (accepts(this.#filter, bits)) this.#put(entries);
    return this.#bytes <= QUEUE_BYTES_MAX;
  }

  take(): Uint8Array | undefined {
    let text = '';
    let group: QueueEntry[] = [];
    let length = 0;
    for (const entry of this.#entries.values()) {
      if (!continues(group, length, entry)) {
        text += this.#takeFrame(group, entry);
        group = [];
        length = 0;
        if (text.length >= PORTION_BYTES_MAX) return encode(text);
      }
      group.push(entry);
      length += entry.json.length;
    }
    text += this.#takeFrame(group, undefined);
    return text === '' ? undefined : encode(text);
  }

  #put(entries: readonly QueueEntry[]): void {
    for (const entry of entries) {
      // What waits as new has not been told yet: however it has changed since, it is new.
      const type = this.#entries.get(entry.key)?.type ?? entry.type;
      this.#remove(entry.key);
      if (entry.slot !== undefined && entry.slot !== entry.key) this.#remove(entry.slot);
      this.#entries.set(entry.key, type === entry.type ? entry : { ...entry, type });
      this.#bytes += entry.bytes;
    }
  }

  #remove(key: string): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    this.#entries.delete(key);
    this.#bytes -= entry.bytes;
  }

  /**
   * Takes `group` out as one event. Entries of one event, and all of a snapshot, share a sequence number: while `next`
   * has the same one, that number is not wholly delivered, and the event's id is of what has been reached before.
   */
  #takeFrame(group: readonly QueueEntry[], next: QueueEntry | undefined): string {
    const last = group.at(-1);
    if (last === undefined) return '';
    for (const { key } of group) this.#remove(key);
    const { states, actions } = last.reached;
    const isLast = next?.sequence !== last.sequence;
    const id = isLast ? eventId(this.#boot, last.sequence) : eventId(this.#boot, states, actions);
    return frame(last.type, dataOf(last.listed, group), id);
  }
}

/** Neighbours of one list event, or of two of the same kind, leave as one list: fewer events, the same words. */
function continues(group: readonly QueueEntry[], length: number, entry: QueueEntry): boolean {
  const last = group.at(-1);
  if (last === undefined) return true;
  return last.listed && last.type === entry.type && length + entry.json.length <= PORTION_BYTES_MAX;
}
