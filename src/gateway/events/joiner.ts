// Makes events of items. Consecutive items of one kind share one event if the events of this kind are lists,
// as long as the event's line has room. Pure.

import { type EventKind, frame } from './frames.js';

export interface StreamItem {
  readonly kind: EventKind;
  readonly json: string;
  /** After this item the client has everything up to this sequence number; undefined within a snapshot. */
  readonly upTo: number | undefined;
}

/** An event of one or more items, as its text; `upTo` is that of its last item. */
export interface FramedEvent extends Pick<StreamItem, 'kind' | 'upTo'> {
  readonly text: string;
}

export class Joiner {
  readonly #bootId: string;
  readonly #maxBytes: number;
  #last: StreamItem | undefined;
  #data = '';
  #bytes = 0;

  /** `maxBytes` limits the items of one event together. A longer item has an event of its own. */
  constructor(bootId: string, maxBytes: number) {
    this.#bootId = bootId;
    this.#maxBytes = maxBytes;
  }

  /**
   * Takes the next item. Returns the event of the items before it; undefined if the item joins them, because
   * their event is not complete yet. After the last item, call it with undefined: it returns the last event.
   */
  next(item: StreamItem | undefined): FramedEvent | undefined {
    const last = this.#last;
    this.#last = item;
    const bytes = item?.kind.isList ? Buffer.byteLength(item.json) : 0;
    const isSameList = last?.kind.isList === true && last.kind === item?.kind;
    const hasRoom = this.#bytes + 1 + bytes <= this.#maxBytes;
    if (item !== undefined && isSameList && hasRoom) {
      this.#data += `,${item.json}`;
      this.#bytes += 1 + bytes;
      return undefined;
    }
    const data = this.#data;
    this.#data = item?.json ?? '';
    this.#bytes = bytes;
    if (last === undefined) return undefined;
    const { kind, upTo } = last;
    const id = upTo === undefined ? undefined : `${this.#bootId}-${upTo}`;
    return { kind, upTo, text: frame(kind.type, kind.isList ? `[${data}]` : data, id) };
  }
}
