// Joins consecutive items of one kind to one event, if events of this kind are lists and the event's line has
// room. Pure.

import { type EventKind, frame } from './frames.js';

const COMMA_BYTES = 1;

export interface StreamItem {
  readonly kind: EventKind;
  readonly json: string;
  /** After this item the client has everything up to this sequence number; undefined within a snapshot. */
  readonly upTo: number | undefined;
}

/** An event of one or more items. `upTo` is the last item's. */
export interface FramedEvent extends Pick<StreamItem, 'kind' | 'upTo'> {
  readonly text: string;
  readonly bytes: number;
}

export class Joiner {
  readonly #bootId: string;
  readonly #maxBytes: number;
  /** The last item of the event that is not complete yet; undefined if there is no such event. */
  #lastItem: StreamItem | undefined;
  /** The texts of all items of this event, with commas between them. */
  #data = '';
  /** The size of `#data` if the event is a list, else 0. */
  #bytes = 0;

  /** `maxBytes` limits the items of one event together. A longer item has an event of its own. */
  constructor(bootId: string, maxBytes: number) {
    this.#bootId = bootId;
    this.#maxBytes = maxBytes;
  }

  /**
   * Takes `item`, and returns the event of the items before it if that event is complete now. It is not
   * complete, and undefined is returned, if `item` joins these items, or if there are none. After the last
   * item, call the method with undefined to get the last event.
   */
  completedEvent(item: StreamItem | undefined): FramedEvent | undefined {
    const last = this.#lastItem;
    this.#lastItem = item;
    // Only items of lists are joined, so the bytes of other items are not counted.
    const itemBytes = item?.kind.isList ? Buffer.byteLength(item.json) : 0;
    const isSameList = last?.kind.isList === true && last.kind === item?.kind;
    const joinedBytes = this.#bytes + COMMA_BYTES + itemBytes;
    const hasRoom = joinedBytes <= this.#maxBytes;
    if (item !== undefined && isSameList && hasRoom) {
      this.#data += `,${item.json}`;
      this.#bytes = joinedBytes;
      return undefined;
    }
    const data = this.#data;
    this.#data = item?.json ?? '';
    this.#bytes = itemBytes;
    if (last === undefined) return undefined;
    const { kind, upTo } = last;
    const id = upTo === undefined ? undefined : `${this.#bootId}-${upTo}`;
    const text = frame(kind.type, kind.isList ? `[${data}]` : data, id);
    return { kind, upTo, text, bytes: Buffer.byteLength(text) };
  }
}
