// The last events, framed, for clients that come back. It holds no record structure and knows no client.

import { ACTIONS_ONLY, accepts, type Filter } from './filter.js';
import type { Part } from './parts.js';

/** Contract, section 5. */
const RING_EVENTS_MAX = 1024;
/**
 * A record may have 130 kB, and 1024 of them are more than a small node's whole memory. An ordinary event has 0.3 to
 * 3 kB, so these bounds act only when events are huge; a client that they hurt gets a snapshot, as for any expired id.
 */
const STATE_BYTES_MAX = 8 * 1024 * 1024;
const ACTION_BYTES_MAX = 4 * 1024 * 1024;

/** An event as it is sent. `bits` as in filter.ts. */
export interface FramedEvent {
  readonly sequence: number;
  readonly bits: number;
  readonly frame: Uint8Array;
  /** Of an action: its words, which no snapshot tells again. */
  readonly action?: Part;
}

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

  #at(place: number): FramedEvent | undefined {
    return this.#events[place % RING_EVENTS_MAX];
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
  readonly #states = new Ring(STATE_BYTES_MAX);
  readonly #actions = new Ring(ACTION_BYTES_MAX);
  #newest = 0;

  /** The sequence number of the newest event; 0 before the first. */
  get newest(): number {
    return this.#newest;
  }

  /** `event` carries the sequence number that follows `newest`. */
  push(event: FramedEvent): void {
    this.#newest = event.sequence;
    (event.action === undefined ? this.#states : this.#actions).push(event);
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
