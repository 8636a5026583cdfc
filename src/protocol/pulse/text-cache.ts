// Decides which decoded texts and property lists are kept, so that they need not be decoded at every reading.

/** How many texts are kept; a power of two. */
const TEXT_SLOTS = 2048;
/**
 * Texts that are longer than this are not kept, because they are rarely repeated. The bytes of all kept
 * texts take 128 kB, and their strings at most as much.
 */
const CACHED_TEXT_MAX_BYTES = 64;
/**
 * At most this many bytes of a text are decoded, unless the whole text is needed (`text` and `optionalText`
 * in reader.ts). The limit is needed, because PulseAudio and PipeWire pass on texts of 60 000 bytes, and V8
 * makes them twice as long in memory if one character is beyond Latin-1. 136 streams with two such texts each
 * filled a thread's whole heap (docs/development/what-we-learnt.md, "PulseAudio and PipeWire").
 */
export const TEXT_MAX_BYTES = 1024;
/** How many bytes of a text are compared at a time. */
const WORD_BYTES = 4;
/** Two odd factors spread similar texts over the slots. This one is about 2^32 / the golden ratio. */
const GOLDEN_FACTOR = 0x9e3779b1;
/** This factor, like the one above, is a prime of xxHash. */
const PRIME_FACTOR = 0x85ebca77;
/**
 * A product of 32 bits is shifted to the right by this number. Its highest bits remain, and are the number of
 * the slot. The lower bits of a product would be worse, because they depend on only few bits of its factors.
 */
const SLOT_SHIFT = 32 - Math.log2(TEXT_SLOTS);

/**
 * How many objects can have lists in the cache; a power of two. Two objects with the same index, such as a
 * sink and a stream, share their places. Then only the lists of the object that was read last are kept. The
 * same is true of objects whose indexes differ by a multiple of this number.
 */
const OBJECT_PLACES = 512;
/**
 * The cache keeps two lists of an object: one of its own properties, and one of the properties of a format.
 * If a record has several lists of one sort, they share one place, and only the last one is kept: a card has
 * a list, and so has each of its ports.
 */
export const LISTS_PER_OBJECT = 2;
const PLACE_MASK = OBJECT_PLACES * LISTS_PER_OBJECT - 1;
/** Longer lists are not kept, but decoded at every reading. The bytes of all kept lists take at most 2 MB. */
const LIST_MAX_BYTES = 2048;
/** Spare room behind a list's bytes, so that a list that has grown a little fits into the same array. */
const SPARE_BYTES = 64;

/** A decoded list. Nobody may change it, because several readings of a stream or device may share it. */
export type Properties = Readonly<Record<string, string>>;

interface CachedList {
  /**
   * The list's bytes on the wire up to its end mark, and spare room behind them. Because of the end mark, a
   * longer list is never taken for this one.
   */
  readonly bytes: Uint8Array;
  /** How many of `bytes` belong to the list. */
  readonly length: number;
  readonly props: Properties;
}

/**
 * Keeps the property lists that were read last. A stream is read again at every change of its volume. Its
 * properties, which are most of its record, stay the same then. To compare their bytes costs a tenth of
 * decoding them, and all records of the stream share one list.
 */
class ListCache {
  readonly #lists = new Array<CachedList | undefined>(OBJECT_PLACES * LISTS_PER_OBJECT).fill(undefined);

  /**
   * The list at this place if it equals the list that begins at `start` of a payload, else undefined. A
   * place is LISTS_PER_OBJECT times the object's index, plus 0 for the object's own list, or 1 for that of a
   * format.
   */
  find(place: number, payload: Buffer, start: number): CachedList | undefined {
    const cached = this.#lists[place & PLACE_MASK];
    if (cached === undefined) return undefined;
    const end = start + cached.length;
    if (end > payload.length) return undefined;
    // Node's own comparison is faster than a loop: one call costs as much as 50 words in a loop, and a list
    // has hundreds of words.
    const isSame = payload.compare(cached.bytes, 0, cached.length, start, end) === 0;
    return isSame ? cached : undefined;
  }

  /** Drops the lists of a removed object, because they are most of the memory that its record took. */
  forget(objectIndex: number): void {
    const first = (objectIndex * LISTS_PER_OBJECT) & PLACE_MASK;
    this.#lists.fill(undefined, first, first + LISTS_PER_OBJECT);
  }

  /** Keeps the list in [start, end) of a payload at this place. */
  keep(place: number, payload: Buffer, start: number, end: number, props: Properties): void {
    const length = end - start;
    if (length > LIST_MAX_BYTES) return;
    const oldBytes = this.#lists[place & PLACE_MASK]?.bytes;
    // A new array would cost more than the rest of this method. A list that has changed is about as long as
    // before, so it usually fits into the old array.
    const fitsIntoOldBytes = oldBytes !== undefined && oldBytes.length >= length;
    const bytes = fitsIntoOldBytes ? oldBytes : new Uint8Array(length + SPARE_BYTES);
    payload.copy(bytes, 0, start, end);
    this.#lists[place & PLACE_MASK] = { bytes, length, props };
  }
}

/**
 * Keeps decoded texts. The property keys, and most of the values, are the same for all sink inputs and at
 * every reading. To find a text costs a third of decoding it, and equal texts are one string in memory.
 */
export class TextCache {
  readonly lists = new ListCache();
  readonly #texts = new Array<string | undefined>(TEXT_SLOTS).fill(undefined);
  /**
   * The bytes of each slot's text. To compare them by words is four times as fast as to compare characters.
   */
  readonly #slotBytes = new Uint8Array(TEXT_SLOTS * CACHED_TEXT_MAX_BYTES);
  readonly #slotWords = new DataView(this.#slotBytes.buffer);
  /**
   * Each text has a first and a second slot. If the first slot of a new text is taken, this value decides
   * which of the two slots the text gets. The value changes with each text that is kept.
   */
  #evictSecond = false;

  /**
   * The UTF-8 text in [start, end) of a payload, cut to TEXT_MAX_BYTES. Invalid UTF-8 becomes U+FFFD. `bytes`
   * and `words` are two views of the same payload.
   */
  text(bytes: Buffer, words: DataView, start: number, end: number): string {
    const length = end - start;
    if (length === 0) return '';
    if (length > CACHED_TEXT_MAX_BYTES) return longText(bytes, start, end);
    const isShort = length < WORD_BYTES;
    const firstWord = isShort ? shortWord(bytes, start, end) : words.getInt32(start);
    const lastWord = isShort ? firstWord : words.getInt32(end - WORD_BYTES);
    // The hash uses only the length, the first word and the last word. To read all bytes would cost more than
    // the rare collisions. The shift by 15 mixes higher bits into lower ones, as xxHash does before it
    // multiplies by PRIME_FACTOR.
    const mixed = Math.imul(firstWord + length, GOLDEN_FACTOR) ^ lastWord;
    const slot = Math.imul(mixed ^ (mixed >>> 15), PRIME_FACTOR) >>> SLOT_SHIFT;
    // A text is in one of two slots, such as 4 or 5. If there were only one slot for it, two keys with the
    // same slot would evict each other at every stream.
    return (
      this.#find(slot, firstWord, words, start, end) ??
      this.#find(slot ^ 1, firstWord, words, start, end) ??
      this.#decode(slot, firstWord, bytes, start, end)
    );
  }

  /**
   * The slot's text if it equals the text in [start, end), else undefined. The last word may overlap the
   * word before it.
   */
  #find(slot: number, firstWord: number, words: DataView, start: number, end: number): string | undefined {
    const cached = this.#texts[slot];
    const base = slot * CACHED_TEXT_MAX_BYTES;
    // Each character of a cached text is one byte, so the text's length is also the number of its bytes.
    if (cached?.length !== end - start || this.#slotWords.getInt32(base) !== firstWord) return undefined;
    for (let at = start + WORD_BYTES; at < end; at += WORD_BYTES) {
      const wordStart = Math.min(at, end - WORD_BYTES);
      if (words.getInt32(wordStart) !== this.#slotWords.getInt32(base + wordStart - start)) return undefined;
    }
    return cached;
  }

  /** Decodes the text, and may keep it in one of its two slots. */
  #decode(slot: number, firstWord: number, bytes: Buffer, start: number, end: number): string {
    const text = bytes.toString('utf8', start, end);
    // A text is kept only if every character is one byte, because `#find` compares the length of the text
    // with a number of bytes.
    if (text.length !== end - start) return text;
    this.#evictSecond = !this.#evictSecond;
    const isSecond = this.#texts[slot] !== undefined && this.#evictSecond;
    const target = isSecond ? slot ^ 1 : slot;
    const base = target * CACHED_TEXT_MAX_BYTES;
    this.#texts[target] = text;
    this.#slotBytes.set(bytes.subarray(start, end), base);
    // A text that is shorter than a word is stored as `#find` compares it: as the word of `shortWord`.
    if (end - start < WORD_BYTES) this.#slotWords.setInt32(base, firstWord);
    return text;
  }
}

/**
 * The text, cut to at most TEXT_MAX_BYTES. The cut is before the first byte of a character, so that no
 * character is cut in two. This byte is at most three bytes before the limit. Invalid UTF-8 without such a
 * byte is cut at the limit.
 */
function longText(bytes: Buffer, start: number, end: number): string {
  const limit = start + TEXT_MAX_BYTES;
  if (end <= limit) return bytes.toString('utf8', start, end);
  // The later bytes of a character are 10xxxxxx in binary.
  const isFirstByte = (position: number): boolean => ((bytes[position] ?? 0) & 0xc0) !== 0x80;
  const cut = [limit, limit - 1, limit - 2, limit - 3].find(isFirstByte);
  return bytes.toString('utf8', start, cut ?? limit);
}

/** The word of a text that has only one to three bytes. */
function shortWord(bytes: Uint8Array, start: number, end: number): number {
  let word = 0;
  for (let at = start; at < end; at += 1) word = (word << 8) | (bytes[at] ?? 0);
  return word;
}
