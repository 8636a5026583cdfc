// What waits for one consumer that reads slowly: the newest word on each record, every removal and every action. Pure.
//
// Invariant: what a slow consumer is sent is a subsequence of what happened, in the order in which it happened; missing is
// only what a later event about the same record supersedes. A removal supersedes what waits of its record, and is itself
// superseded by nothing but the same words said again. A superseding event therefore goes to the end instead of
// taking the old one's place. This is what makes ids safe: an event with id N is written only when everything up to N has
// been written, or is superseded by an event after N, which a consumer that breaks off here will find when it resumes.
// The price: a record that never stops changing may be told late; its last word always comes.

import { type Backlog, PORTION_BYTES_MAX } from './backlog.js';
import type { Batch } from './batch.js';
import { encode, eventId, frame } from './encode.js';
import type { Filter } from './filter.js';
import { dataOf } from './parts.js';
import type { Waiting } from './waiting.js';

/** Contract, section 5: over this the stream is closed, and its client comes back with Last-Event-ID. */
const OUTBOX_BYTES_MAX = 1024 * 1024;

export class Outbox implements Backlog {
  readonly #boot: string;
  /** In the order of `sequence`: a map keeps the order of insertion. */
  readonly #waiting = new Map<string, Waiting>();
  #bytes = 0;

  constructor(boot: string, waiting: readonly Waiting[] = []) {
    this.#boot = boot;
    this.#put(waiting);
  }

  get drained(): boolean {
    return this.#waiting.size === 0;
  }

  /** What waits, in bytes. */
  get bytes(): number {
    return this.#bytes;
  }

  add(batch: Batch, filter: Filter): boolean {
    this.#put(batch.waitingFor(filter));
    return this.#bytes <= OUTBOX_BYTES_MAX;
  }

  take(): Uint8Array | undefined {
    let text = '';
    let group: Waiting[] = [];
    let length = 0;
    for (const entry of this.#waiting.values()) {
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

  #put(waiting: readonly Waiting[]): void {
    for (const entry of waiting) {
      if (entry.slot !== undefined) this.#remove(entry.slot);
      this.#remove(entry.place);
      this.#waiting.set(entry.place, entry);
      this.#bytes += entry.bytes;
    }
  }

  #remove(place: string): void {
    const entry = this.#waiting.get(place);
    if (entry === undefined) return;
    this.#waiting.delete(place);
    this.#bytes -= entry.bytes;
  }

  /**
   * Takes `group` out as one event. Items of one event, and all items of a snapshot, share a sequence number: while `next`
   * has the same one, that number is not wholly delivered, and the event's id is of what has been reached before.
   */
  #takeFrame(group: readonly Waiting[], next: Waiting | undefined): string {
    const last = group.at(-1);
    if (last === undefined) return '';
    for (const { place } of group) this.#remove(place);
    const texts = group.map(({ json }) => json);
    const { states, actions } = last.reached;
    const isLast = next?.sequence !== last.sequence;
    const id = isLast ? eventId(this.#boot, last.sequence) : eventId(this.#boot, states, actions);
    return frame(last.type, dataOf(last.listed, texts), id);
  }
}

/** Neighbours of one list event, or of two of the same kind, leave as one list: fewer events, the same words. */
function continues(group: readonly Waiting[], length: number, entry: Waiting): boolean {
  const last = group.at(-1);
  if (last === undefined) return true;
  return last.listed && last.type === entry.type && length + entry.json.length <= PORTION_BYTES_MAX;
}
