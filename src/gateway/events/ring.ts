// The last events, framed, for clients that come back. It holds no record structure and knows no client.

/** Contract, section 5. */
const RING_EVENTS_MAX = 1024;
/**
 * A record may have 130 kB, and 1024 of them are more than a small node's whole memory. An ordinary event has 0.3 to
 * 3 kB, so this bound acts only when events are huge; a client that it hurts gets a snapshot, as for any expired id.
 */
const RING_BYTES_MAX = 8 * 1024 * 1024;

/** An event as it is sent. `bits` as in filter.ts. */
export interface FramedEvent {
  readonly sequence: number;
  readonly bits: number;
  readonly frame: Uint8Array;
}

/** Whether everything after a sequence number is still here. */
export type Reach = 'replayable' | 'expired' | 'future';

export class Ring {
  readonly #events: (FramedEvent | undefined)[] = [];
  #oldest = 1;
  #newest = 0;
  #bytes = 0;

  /** The sequence number of the newest event; 0 before the first. */
  get newest(): number {
    return this.#newest;
  }

  /** What the frames weigh together. */
  get bytes(): number {
    return this.#bytes;
  }

  /** `event` carries the sequence number that follows `newest`. */
  push(event: FramedEvent): void {
    if (this.#newest - this.#oldest + 1 === RING_EVENTS_MAX) this.#forgetOldest();
    this.#newest = event.sequence;
    this.#events[event.sequence % RING_EVENTS_MAX] = event;
    this.#bytes += event.frame.byteLength;
    while (this.#bytes > RING_BYTES_MAX) this.#forgetOldest();
  }

  reach(after: number): Reach {
    if (after > this.#newest) return 'future';
    return after >= this.#oldest - 1 ? 'replayable' : 'expired';
  }

  get(sequence: number): FramedEvent | undefined {
    if (sequence < this.#oldest || sequence > this.#newest) return undefined;
    return this.#events[sequence % RING_EVENTS_MAX];
  }

  #forgetOldest(): void {
    const slot = this.#oldest % RING_EVENTS_MAX;
    this.#bytes -= this.#events[slot]?.frame.byteLength ?? 0;
    this.#events[slot] = undefined;
    this.#oldest += 1;
  }
}
