// Reads the typed values of a frame's payload. Refuses unexpected types, and reads nothing beyond the frame.

import type { Chunk } from './frame.js';
import { PropertyBudget } from './property-budget.js';
import { LISTS_PER_OBJECT, type Properties, TEXT_MAX_BYTES, type TextCache } from './text-cache.js';
import { describeTypeTag, NONE, TYPE_TAG, WireError } from './wire.js';

const TWO_TO_32 = 0x1_0000_0000;
/** The type tag before a text's bytes, and the NUL after them. */
const TEXT_OVERHEAD_BYTES = 2;
/** Before the bytes of a property's value, their number comes twice: a type tag and four bytes each time. */
const PROP_HEADER_BYTES = 10;
/**
 * The limit for the properties of a format. The properties of PCM take 50 bytes. A low limit is enough,
 * because no property of a format is published.
 */
const FORMAT_PROPS_MAX_BYTES = 512;

/** The kinds of values, each with the TypeScript type of its values. */
export interface ValueTypes {
  readonly u32: number;
  readonly u8: number;
  /** Undefined if the number on the wire is NONE. */
  readonly index: number | undefined;
  /**
   * The index of the object that a record describes. The cache finds the object's property lists by this
   * index.
   */
  readonly ownIndex: number;
  readonly bool: boolean;
  /** A raw volume: 0x10000 is 100 % (volume.ts). */
  readonly volume: number;
  /** The raw volume of each channel. */
  readonly volumes: number[];
  /** Microseconds. A value above 2^53 - 1 becomes 2^53 - 1, because JavaScript rounds larger integers. */
  readonly usec: number;
  readonly sampleSpec: SampleSpec;
  /** The position of each channel, as its number in PulseAudio's `pulse/channelmap.h`. */
  readonly channelMap: number[];
  /**
   * A whole text, such as a name that may be sent back to the server. Undefined for the null string, which
   * differs from an empty text.
   */
  readonly optionalText: string | undefined;
  /** A whole text that is never the null string. */
  readonly text: string;
  /** A text for people, cut to TEXT_MAX_BYTES; undefined for the null string. */
  readonly excerpt: string | undefined;
  /**
   * The entries that `PropertyBudget` keeps. If a key occurs twice, the later value counts, as in the server.
   */
  readonly props: Properties;
  readonly format: Format;
}

export interface SampleSpec {
  readonly format: number;
  readonly channels: number;
  readonly rate: number;
}

export interface Format {
  readonly encoding: number;
  readonly props: Properties;
}

/**
 * An object that inherits nothing, so that a stream's property called `__proto__` does no harm. It is an
 * object of a class, because V8 then gives objects with equal keys the same layout. So a list of sink inputs
 * is decoded in four fifths of the time that it takes with `Object.create(null)`.
 */
class PropertyList {
  [key: string]: string;
}
Object.setPrototypeOf(PropertyList.prototype, null);
Reflect.deleteProperty(PropertyList.prototype, 'constructor');

export class Reader {
  /** The negotiated protocol version. It decides which fields a record has. */
  readonly version: number;
  readonly #bytes: Buffer;
  readonly #view: DataView;
  readonly #texts: TextCache;
  readonly #payloadStart: number;
  readonly #payloadEnd: number;
  #offset: number;
  /** The index of the object whose record is being read; 0 in a payload without an `ownIndex`. */
  #objectIndex: number;

  /** Reads the payload in [start, end) of a chunk. */
  constructor({ bytes, view }: Chunk, version: number, texts: TextCache, start = 0, end = bytes.length) {
    this.#bytes = bytes;
    this.#view = view;
    this.version = version;
    this.#texts = texts;
    this.#payloadStart = start;
    this.#payloadEnd = end;
    this.#offset = start;
    this.#objectIndex = 0;
  }

  get isAtEnd(): boolean {
    return this.#offset === this.#payloadEnd;
  }

  /** The unread bytes, as a view of the payload. */
  unreadBytes(): Buffer {
    return this.#bytes.subarray(this.#offset, this.#payloadEnd);
  }

  /** Reads the `size` bytes of a value whose kind is not in `ValueTypes`. Returns a view of the payload. */
  takeBytes(typeTag: number, size: number): Buffer {
    const start = this.#skipTagged(typeTag, size);
    return this.#bytes.subarray(start, start + size);
  }

  /**
   * Throws WireError if bytes are left over: the frame was read wrongly, or the server has made a mistake.
   */
  finish(): void {
    const leftOver = this.#payloadEnd - this.#offset;
    if (leftOver !== 0) throw this.#error(`${leftOver} bytes left over`);
  }

  u32(): number {
    return this.#view.getUint32(this.#skipTagged(TYPE_TAG.u32, 4));
  }

  /**
   * Reads a value of any kind. One function reads all kinds, because the processor's caches would lose
   * many small functions between two changes of a volume (bench/FIGURES.md, "A change of a volume").
   */
  value(kind: keyof ValueTypes): ValueTypes[keyof ValueTypes] {
    const view = this.#view;
    switch (kind) {
      case 'u32':
        return this.u32();
      case 'index': {
        const value = this.u32();
        return value === NONE ? undefined : value;
      }
      case 'ownIndex':
        this.#objectIndex = this.u32();
        return this.#objectIndex;
      case 'u8':
        return view.getUint8(this.#skipTagged(TYPE_TAG.u8, 1));
      case 'bool': {
        const typeTag = this.#bytes[this.#offset];
        if (typeTag !== TYPE_TAG.yes && typeTag !== TYPE_TAG.no) throw this.#unexpected(TYPE_TAG.yes);
        this.#skip(1);
        return typeTag === TYPE_TAG.yes;
      }
      case 'volume':
        return view.getUint32(this.#skipTagged(TYPE_TAG.volume, 4));
      case 'volumes': {
        const count = view.getUint8(this.#skipTagged(TYPE_TAG.volumes, 1));
        const at = this.#skip(4 * count);
        // The array is made with its final length. With `push`, two values would take the room of seventeen.
        const values = new Array<number>(count);
        for (let channel = 0; channel < count; channel += 1)
          values[channel] = view.getUint32(at + 4 * channel);
        return values;
      }
      case 'usec': {
        const at = this.#skipTagged(TYPE_TAG.usec, 8);
        return Math.min(view.getUint32(at) * TWO_TO_32 + view.getUint32(at + 4), Number.MAX_SAFE_INTEGER);
      }
      case 'sampleSpec': {
        const at = this.#skipTagged(TYPE_TAG.sampleSpec, 6);
        return { format: view.getUint8(at), channels: view.getUint8(at + 1), rate: view.getUint32(at + 2) };
      }
      case 'channelMap': {
        const count = view.getUint8(this.#skipTagged(TYPE_TAG.channelMap, 1));
        const at = this.#skip(count);
        const positions = new Array<number>(count);
        for (let channel = 0; channel < count; channel += 1) positions[channel] = view.getUint8(at + channel);
        return positions;
      }
      case 'excerpt':
        return this.#excerpt();
      case 'props':
        return this.#propertyList(this.#objectIndex * LISTS_PER_OBJECT);
      case 'format': {
        this.#skipTagged(TYPE_TAG.format, 0);
        const encoding = view.getUint8(this.#skipTagged(TYPE_TAG.u8, 1));
        // The object's own list has the place before this one.
        const place = this.#objectIndex * LISTS_PER_OBJECT + 1;
        return { encoding, props: this.#propertyList(place, FORMAT_PROPS_MAX_BYTES) };
      }
      case 'text':
      case 'optionalText':
        return this.#wholeText(kind);
    }
  }

  /** Reads a text. `TextCache` cuts it to TEXT_MAX_BYTES, so a longer one is decoded again as a whole. */
  #wholeText(kind: 'text' | 'optionalText'): string | undefined {
    const start = this.#offset + 1;
    const beginning = this.#excerpt();
    if (beginning === undefined) {
      if (kind === 'text') throw this.#error('expected text, got noText');
      return undefined;
    }
    // The offset is behind the text's NUL.
    const end = this.#offset - 1;
    return end - start > TEXT_MAX_BYTES ? this.#bytes.toString('utf8', start, end) : beginning;
  }

  #excerpt(): string | undefined {
    const bytes = this.#bytes;
    const typeTag = bytes[this.#offset];
    if (typeTag === TYPE_TAG.noText) {
      this.#skip(1);
      return undefined;
    }
    if (typeTag !== TYPE_TAG.text) throw this.#unexpected(TYPE_TAG.text);
    const start = this.#offset + 1;
    let end = start;
    // A loop finds the end of a short text sooner than a call of indexOf.
    while (end < this.#payloadEnd && bytes[end] !== 0) end += 1;
    if (end >= this.#payloadEnd) throw this.#error('a text without its end');
    this.#offset = end + 1;
    return this.#texts.text(bytes, this.#view, start, end);
  }

  /** Reads a property list. `place` is its place in the cache. Most lists are found there unchanged. */
  #propertyList(place: number, maxBytes?: number): Properties {
    const start = this.#offset;
    const lists = this.#texts.lists;
    const cached = lists.find(place, this.#bytes, start);
    if (cached !== undefined) {
      this.#skip(cached.length);
      return cached.props;
    }
    const props = this.#decodePropertyList(new PropertyBudget(maxBytes));
    lists.keep(place, this.#bytes, start, this.#offset, props);
    return props;
  }

  #decodePropertyList(budget: PropertyBudget): Properties {
    this.#skipTagged(TYPE_TAG.props, 0);
    const props = new PropertyList();
    let keyStart = this.#offset;
    // The null string ends the list.
    for (let key = this.#excerpt(); key !== undefined; key = this.#excerpt()) {
      const keyBytes = this.#offset - keyStart - TEXT_OVERHEAD_BYTES;
      const valueStart = this.#skipPropValue();
      const valueBytes = this.#offset - valueStart;
      if (budget.admit(key, keyBytes, valueBytes)) props[key] = this.#valueText(valueStart);
      keyStart = this.#offset;
    }
    return props;
  }

  /**
   * Skips a property's value, and returns where its bytes begin. Half of all values that are read are values
   * of properties. So tags and lengths are checked without calls of u32(), which cost time.
   */
  #skipPropValue(): number {
    const bytes = this.#bytes;
    const start = this.#offset;
    if (bytes[start] !== TYPE_TAG.u32) throw this.#unexpected(TYPE_TAG.u32);
    // This call throws if the frame ends within the PROP_HEADER_BYTES, so they can be read after the call.
    this.#skip(PROP_HEADER_BYTES);
    const announced = this.#view.getUint32(start + 1);
    const typeTag = bytes[start + 5];
    const length = this.#view.getUint32(start + 6);
    if (typeTag !== TYPE_TAG.bytes || length !== announced)
      throw this.#error(`a value of ${length} bytes that was announced with ${announced}`);
    return this.#skip(length);
  }

  /** Decodes a property's value, whose bytes are [start, `#offset`). Leaves out the usual NUL at the end. */
  #valueText(start: number): string {
    const end = this.#offset;
    const hasNul = end > start && this.#bytes[end - 1] === 0;
    return this.#texts.text(this.#bytes, this.#view, start, hasNul ? end - 1 : end);
  }

  /** Checks and skips the type tag, and skips the `size` bytes after it. Returns where these bytes begin. */
  #skipTagged(expected: number, size: number): number {
    if (this.#bytes[this.#offset] !== expected) throw this.#unexpected(expected);
    this.#offset += 1;
    return this.#skip(size);
  }

  /** Skips `size` bytes, and returns where they begin. */
  #skip(size: number): number {
    const start = this.#offset;
    if (start + size > this.#payloadEnd) throw this.#error(`the frame ends within ${size} bytes`);
    this.#offset = start + size;
    return start;
  }

  #unexpected(expected: number): WireError {
    const got = this.#offset < this.#payloadEnd ? this.#bytes[this.#offset] : undefined;
    return this.#error(`expected ${describeTypeTag(expected)}, got ${describeTypeTag(got)}`);
  }

  #error(what: string): WireError {
    return new WireError(`at byte ${this.#offset - this.#payloadStart} of the payload: ${what}`);
  }
}
