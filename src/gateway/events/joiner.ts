// Joins consecutive items of one kind into one event, if events of this kind are lists and the event has
// room. Pure.

import { type EventKind, frame } from './frames.js';

const COMMA_BYTES = 1;

/** An item becomes an event, or one record in the list of an event. */
export interface StreamItem {
  readonly kind: EventKind;
  readonly json: string;
  /**
   * After this item the client has everything up to this sequence number. Undefined for the items of a
   * snapshot, except the last one.
   */
  readonly upTo: number | undefined;
}

/** An event of one or more items. `upTo` is that of the last item. */
export interface FramedEvent extends Pick<StreamItem, 'kind' | 'upTo'> {
  readonly text: string;
  readonly bytes: number;
}

export class Joiner {
  readonly #bootId: string;
  readonly #maxBytes: number;
  /** The last item of the incomplete event; undefined if there is no such event. */
  #lastItem: StreamItem | undefined;
  /** The texts of all items of the incomplete event, with commas between them. */
  #data = '';
  /** The size of `#data` if the incomplete event has a list, else 0. */
  #bytes = 0;

  /** Items are joined up to `maxBytes` in one event. A longer item has an event of its own. */
  constructor(bootId: string, maxBytes: number) {
    this.#bootId = bootId;
    this.#maxBytes = maxBytes;
  }

  /**
   * Adds `item`. If `item` joins the incomplete event, the result is undefined. Otherwise `item` begins the
   * next event, and the result is the event before it, or undefined if there is none. After the last item,
   * call the method with undefined to get the last event.
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
