// A small cache of decoded property lists, by their object's index. A stream is read again with every change of its volume, but its
// properties, most of its record, stay the same: comparing their bytes costs a tenth of decoding them, and the records of all these
// readings share one list.

/** Objects whose lists are kept; a power of two. If two share a slot, such as a sink and a stream, the latest is kept. */
const OBJECTS = 512;
/** An object has properties of its own, and those of its format. */
export const LISTS_PER_OBJECT = 2;
const PLACES = OBJECTS * LISTS_PER_OBJECT - 1;
/** Longer lists are decoded each time. With OBJECTS this makes at most 2 MB of bytes. */
const CACHED_MAX_BYTES = 2048;
/** Room after a list, so that it can grow. */
const SPARE_BYTES = 64;

/** Shared by all records with equal lists, so nobody may change it. */
export type Properties = Readonly<Record<string, string>>;

interface CachedList {
  /** The bytes on the wire with the end mark, so that equal bytes are this list, whatever follows. */
  readonly bytes: Uint8Array;
  readonly length: number;
  readonly props: Properties;
}

export class ListCache {
  readonly #lists = new Array<CachedList | undefined>(OBJECTS * LISTS_PER_OBJECT).fill(undefined);

  /**
   * The list that begins at `start` of a payload, if it equals the one kept at this place: LISTS_PER_OBJECT times the object's index, plus
   * the number of the list.
   */
  find(place: number, payload: Buffer, start: number): CachedList | undefined {
    const known = this.#lists[place & PLACES];
    if (known === undefined) return undefined;
    const end = start + known.length;
    // Node's own comparison: a call costs as much as 50 words in a loop, and a list has hundreds.
    const isSame = end <= payload.length && payload.compare(known.bytes, 0, known.length, start, end) === 0;
    return isSame ? known : undefined;
  }

  /** Keeps the list in [start, end) of a payload at this place. */
  keep(place: number, payload: Buffer, start: number, end: number, props: Properties): void {
    const length = end - start;
    if (length > CACHED_MAX_BYTES) return;
    const held = this.#lists[place & PLACES]?.bytes;
    // A new array would cost more than everything else here, and a changed list has about its old length.
    const bytes = held !== undefined && held.length >= length ? held : new Uint8Array(length + SPARE_BYTES);
    payload.copy(bytes, 0, start, end);
    this.#lists[place & PLACES] = { bytes, length, props };
  }
}
