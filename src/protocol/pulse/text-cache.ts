// Small caches of decoded texts and of property lists. A list of sink inputs repeats the same keys and mostly
// the same values for every stream, and again with every refresh: finding a text costs a third of decoding
// it, and equal texts are kept once. A stream is read again with every change of its volume, but its
// properties, most of its record, stay the same: comparing their bytes costs a tenth of decoding them, and
// the records of all these readings share one list.

/** Slots; a power of two. */
const SLOTS = 2048;
/** Longer texts are rarely repeated. With SLOTS: 128 kB of bytes, and at most as much again of strings. */
const CACHED_MAX_BYTES = 64;
/**
 * Bytes decoded of one text. Both servers pass on 60 000 bytes in each, and one character beyond Latin-1
 * makes a string take two bytes per character: 136 streams with two such texts filled a thread's whole heap
 * (measured).
 */
export const TEXT_MAX_BYTES = 1024;
const CHUNK_BYTES = 4;
/**
 * Two odd numbers that spread similar texts over the slots: 2^32 by the golden ratio, and a prime of xxHash.
 */
const FACTORS = [0x9e3779b1, 0x85ebca77] as const;
/** A product's highest bits depend on all bits of its factors. */
const SLOT_SHIFT = 32 - Math.log2(SLOTS);

/**
 * Objects whose lists are kept; a power of two. If two share a slot, such as a sink and a stream, the latest
 * is kept.
 */
const OBJECTS = 512;
/** An object has properties of its own, and those of its format. */
export const LISTS_PER_OBJECT = 2;
const PLACE_MASK = OBJECTS * LISTS_PER_OBJECT - 1;
/** Longer lists are decoded each time. With OBJECTS this makes at most 2 MB of bytes. */
const LIST_MAX_BYTES = 2048;
/** Room after a list, so that it can grow. */
const SPARE_BYTES = 64;

/** Shared by all records with equal lists, so nobody may change it. */
export type Properties = Readonly<Record<string, string>>;

interface CachedList {
  /** The bytes on the wire. The end mark is among them, so a longer list cannot be taken for this one. */
  readonly bytes: Uint8Array;
  readonly length: number;
  readonly props: Properties;
}

class ListCache {
  readonly #lists = new Array<CachedList | undefined>(OBJECTS * LISTS_PER_OBJECT).fill(undefined);

  /**
   * The list that begins at `start` of a payload, if it equals the one kept at this place: LISTS_PER_OBJECT
   * times the object's index, plus the number of the list.
   */
  find(place: number, payload: Buffer, start: number): CachedList | undefined {
    const known = this.#lists[place & PLACE_MASK];
    if (known === undefined) return undefined;
    const end = start + known.length;
    // Node's own comparison: a call costs as much as 50 chunks in a loop, and a list has hundreds.
    const isSame = end <= payload.length && payload.compare(known.bytes, 0, known.length, start, end) === 0;
    return isSame ? known : undefined;
  }

  /** Drops the lists of an object that is no more, which are most of the memory that its record took. */
  forget(object: number): void {
    const first = (object * LISTS_PER_OBJECT) & PLACE_MASK;
    this.#lists.fill(undefined, first, first + LISTS_PER_OBJECT);
  }

  /** Keeps the list in [start, end) of a payload at this place. */
  keep(place: number, payload: Buffer, start: number, end: number, props: Properties): void {
    const length = end - start;
    if (length > LIST_MAX_BYTES) return;
    const cached = this.#lists[place & PLACE_MASK]?.bytes;
    // A new array would cost more than everything else here, and a changed list has about its old length.
    const bytes =
      cached !== undefined && cached.length >= length ? cached : new Uint8Array(length + SPARE_BYTES);
    payload.copy(bytes, 0, start, end);
    this.#lists[place & PLACE_MASK] = { bytes, length, props };
  }
}

export class TextCache {
  /** The cache of property lists. */
  readonly lists = new ListCache();
  readonly #texts = new Array<string | undefined>(SLOTS).fill(undefined);
  /**
   * The bytes of each slot's text: compared by chunks of four bytes, which is four times as fast as by
   * characters.
   */
  readonly #bytes = new Uint8Array(SLOTS * CACHED_MAX_BYTES);
  readonly #chunks = new DataView(this.#bytes.buffer);
  #evictNeighbour = false;

  /**
   * The UTF-8 text in [start, end) of a payload; a long one is cut, and invalid UTF-8 becomes U+FFFD. `bytes`
   * and `chunks` are two views of the one payload.
   */
  text(bytes: Buffer, chunks: DataView, start: number, end: number): string {
    const length = end - start;
    if (length === 0) return '';
    if (length > CACHED_MAX_BYTES) return longText(bytes, start, end);
    const first = length < CHUNK_BYTES ? shortChunk(bytes, start, end) : chunks.getInt32(start);
    const last = length < CHUNK_BYTES ? first : chunks.getInt32(end - CHUNK_BYTES);
    // Hashes the length and both ends: reading everything would cost more than the rare collision.
    const mixed = Math.imul(first + length, FACTORS[0]) ^ last;
    const slot = Math.imul(mixed ^ (mixed >>> 15), FACTORS[1]) >>> SLOT_SHIFT;
    // Two slots for each text: otherwise two keys of every stream that share a slot would evict each other
    // for ever.
    return (
      this.#find(slot, first, chunks, start, end) ??
      this.#find(slot ^ 1, first, chunks, start, end) ??
      this.#make(slot, first, bytes, start, end)
    );
  }

  /**
   * The slot's text if it equals the one in [start, end); the last compared chunk may overlap the one before.
   */
  #find(slot: number, first: number, chunks: DataView, start: number, end: number): string | undefined {
    const known = this.#texts[slot];
    const base = slot * CACHED_MAX_BYTES;
    if (known?.length !== end - start || this.#chunks.getInt32(base) !== first) return undefined;
    for (let at = start + CHUNK_BYTES; at < end; at += CHUNK_BYTES) {
      const chunkAt = Math.min(at, end - CHUNK_BYTES);
      if (chunks.getInt32(chunkAt) !== this.#chunks.getInt32(base + chunkAt - start)) return undefined;
    }
    return known;
  }

  #make(slot: number, first: number, bytes: Buffer, start: number, end: number): string {
    const text = bytes.toString('utf8', start, end);
    // One byte per character is required, or the text's length would not show how many bytes were compared.
    if (text.length !== end - start) return text;
    // The two slots of a text are evicted in turn.
    this.#evictNeighbour = !this.#evictNeighbour;
    const evicted = this.#texts[slot] !== undefined && this.#evictNeighbour ? slot ^ 1 : slot;
    const base = evicted * CACHED_MAX_BYTES;
    this.#texts[evicted] = text;
    this.#bytes.set(bytes.subarray(start, end), base);
    if (end - start < CHUNK_BYTES) this.#chunks.setInt32(base, first);
    return text;
  }
}

/**
 * Cuts before a character's first byte, which is followed by at most three others; invalid UTF-8 is cut
 * anywhere.
 */
function longText(bytes: Buffer, start: number, end: number): string {
  const most = start + TEXT_MAX_BYTES;
  if (end <= most) return bytes.toString('utf8', start, end);
  const cut = [most, most - 1, most - 2, most - 3].find((at) => ((bytes[at] ?? 0) & 0xc0) !== 0x80);
  return bytes.toString('utf8', start, cut ?? most);
}

/** A text of one to three bytes as one word. */
function shortChunk(bytes: Uint8Array, start: number, end: number): number {
  let word = 0;
  for (let at = start; at < end; at += 1) word = (word << 8) | (bytes[at] ?? 0);
  return word;
}
