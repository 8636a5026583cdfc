// A small cache of decoded property lists, by the number of the object whose they are. A stream is read again with every change of its
// volume, and its properties, most of its record, say the same: comparing their bytes costs a tenth of decoding them, and the records
// of all these readings share one list.

/** Objects whose lists are kept; a power of two. Of two that fall on one slot, such as a sink and a stream, the latest is kept. */
const OBJECTS = 512;
/** An object has properties of its own, and those of its format. */
const LISTS_PER_OBJECT = 2;
/** Longer lists are decoded each time. With OBJECTS: 2 MB of bytes, if all are so long. */
const CACHED_MAX_BYTES = 2048;
/** Behind a list, for what it may become. */
const SPARE_BYTES = 64;

/** Shared by all records that said the same, so nobody may change it. */
export type Properties = Readonly<Record<string, string>>;

interface CachedList {
  /** As on the wire, with the mark of its end: what begins with these bytes is this list, whatever follows. */
  readonly bytes: Uint8Array;
  readonly length: number;
  readonly props: Properties;
}

export class ListCache {
  readonly #lists = new Array<CachedList | undefined>(OBJECTS * LISTS_PER_OBJECT).fill(undefined);

  /** The list that begins at `start` of a payload, if it is the one that was kept in that place. */
  find(place: number, payload: Buffer, start: number): CachedList | undefined {
    const known = this.#lists[place];
    if (known === undefined) return undefined;
    const end = start + known.length;
    // Node's own comparison: a call costs what 50 words cost in a loop, and a list has hundreds.
    const isSame = end <= payload.length && payload.compare(known.bytes, 0, known.length, start, end) === 0;
    return isSame ? known : undefined;
  }

  /** Keeps the list in [start, end) of a payload in that place. */
  keep(place: number, payload: Buffer, start: number, end: number, props: Properties): void {
    const length = end - start;
    if (length > CACHED_MAX_BYTES) return;
    const held = this.#lists[place]?.bytes;
    // An array costs more than all else here, and a list that has changed has about its old length.
    const bytes = held !== undefined && held.length >= length ? held : new Uint8Array(length + SPARE_BYTES);
    payload.copy(bytes, 0, start, end);
    this.#lists[place] = { bytes, length, props };
  }
}

/** Where an object's list of that kind is kept. */
export function placeOf(object: number, kind: 'own' | 'format'): number {
  return (object & (OBJECTS - 1)) * LISTS_PER_OBJECT + Number(kind === 'format');
}
