// Reads the typed values of one frame's payload, strictly: each read names the expected tag, and nothing is
// read beyond the frame. The wire's "none" values become undefined here.

import type { Chunk } from './frame.js';
import { PropertyBudget } from './property-budget.js';
import { LISTS_PER_OBJECT, type Properties, TEXT_MAX_BYTES, type TextCache } from './text-cache.js';
import { describeTag, NONE, TAG, WireError } from './wire.js';

const TWO_TO_32 = 0x1_0000_0000;
/** Tag and NUL around a text's bytes. */
const TEXT_FRAME_BYTES = 2;
/** Before a property's bytes: tag and length as u32, then tag and length of the bytes. */
const PROP_HEADER_BYTES = 10;
/** Bound for a format's properties, which are not published. Those of PCM have 50 bytes. */
const FORMAT_PROPS_MAX_BYTES = 512;

/** The kinds of value, each with its type. */
export interface Values {
  readonly u32: number;
  readonly u8: number;
  /** Undefined for the wire's "none". */
  readonly index: number | undefined;
  /** The index of the record's own object, by which its lists are found again. */
  readonly ownIndex: number;
  readonly bool: boolean;
  readonly volume: number;
  /** Raw, one per channel. */
  readonly volumes: number[];
  /** Microseconds, exact up to 2^53 and capped there. */
  readonly usec: number;
  readonly sampleSpec: SampleSpec;
  /** Positions, as `pulse/channelmap.h` numbers them. */
  readonly channelMap: number[];
  readonly text: string;
  /** Like `excerpt`, but whole: a server's name, which may be sent back to it. */
  readonly optionalText: string | undefined;
  /**
   * A text for people. Undefined for the null string, which is not the empty one. A text that is too long is
   * cut.
   */
  readonly excerpt: string | undefined;
  /**
   * A long list is reduced by `PropertyBudget`. If a kept key occurs twice the later value counts, as in the
   * server.
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
 * A property list inherits nothing, so that a stream's property called `__proto__` does no harm. Equal lists
 * made by a constructor share a shape, which `Object.create(null)` does not give: this decodes a list of sink
 * inputs in four fifths of the time.
 */
class PropertyList {
  [key: string]: string;
}
Object.setPrototypeOf(PropertyList.prototype, null);
Reflect.deleteProperty(PropertyList.prototype, 'constructor');

export class Reader {
  /** The negotiated protocol version: decides which fields a record has. */
  readonly version: number;
  readonly #bytes: Buffer;
  readonly #view: DataView;
  readonly #texts: TextCache;
  readonly #start: number;
  readonly #end: number;
  #offset: number;
  /** The index of the object whose record is being read. */
  #object: number;

  /** Reads the payload in [start, end) of a chunk. */
  constructor({ bytes, view }: Chunk, version: number, texts: TextCache, start = 0, end = bytes.length) {
    this.#bytes = bytes;
    this.#view = view;
    this.version = version;
    this.#texts = texts;
    this.#start = start;
    this.#end = end;
    this.#offset = start;
    this.#object = 0;
  }

  get atEnd(): boolean {
    return this.#offset === this.#end;
  }

  /** The unread bytes, as a view of the payload. */
  rest(): Buffer {
    return this.#bytes.subarray(this.#offset, this.#end);
  }

  /** The bytes of a value without a kind here: `size` bytes after `tag`, as a view of the payload. */
  block(tag: number, size: number): Buffer {
    const at = this.#take(tag, size);
    return this.#bytes.subarray(at, at + size);
  }

  /**
   * A frame must be consumed exactly: bytes left over mean that it was read wrongly, or that the server
   * erred.
   */
  finish(): void {
    if (this.#offset !== this.#end) throw this.#error(`${this.#end - this.#offset} bytes left over`);
  }

  u32(): number {
    return this.#view.getUint32(this.#take(TAG.u32, 4));
  }

  /** One function for all kinds: what a volume change runs is short and stays in the processor's caches. */
  value(kind: keyof Values): Values[keyof Values] {
    const view = this.#view;
    switch (kind) {
      case 'u32':
        return this.u32();
      case 'index': {
        const value = this.u32();
        return value === NONE ? undefined : value;
      }
      case 'ownIndex':
        this.#object = this.u32();
        return this.#object;
      case 'u8':
        return view.getUint8(this.#take(TAG.u8, 1));
      case 'bool': {
        const tag = this.#bytes[this.#offset];
        if (tag !== TAG.yes && tag !== TAG.no) throw this.#unexpected(TAG.yes);
        this.#advance(1);
        return tag === TAG.yes;
      }
      case 'volume':
        return view.getUint32(this.#take(TAG.volume, 4));
      case 'volumes': {
        const count = view.getUint8(this.#take(TAG.volumes, 1));
        const at = this.#advance(4 * count);
        // Allocated in its final size: an array that grows to two values has room for seventeen.
        const values = new Array<number>(count);
        for (let channel = 0; channel < count; channel += 1)
          values[channel] = view.getUint32(at + 4 * channel);
        return values;
      }
      case 'usec': {
        const at = this.#take(TAG.usec, 8);
        return Math.min(view.getUint32(at) * TWO_TO_32 + view.getUint32(at + 4), Number.MAX_SAFE_INTEGER);
      }
      case 'sampleSpec': {
        const at = this.#take(TAG.sampleSpec, 6);
        return { format: view.getUint8(at), channels: view.getUint8(at + 1), rate: view.getUint32(at + 2) };
      }
      case 'channelMap': {
        const count = view.getUint8(this.#take(TAG.channelMap, 1));
        const at = this.#advance(count);
        const positions = new Array<number>(count);
        for (let channel = 0; channel < count; channel += 1) positions[channel] = view.getUint8(at + channel);
        return positions;
      }
      case 'excerpt':
        return this.#excerpt();
      case 'props':
        return this.#list(this.#object * LISTS_PER_OBJECT);
      case 'format': {
        this.#take(TAG.format, 0);
        const encoding = view.getUint8(this.#take(TAG.u8, 1));
        return { encoding, props: this.#list(this.#object * LISTS_PER_OBJECT + 1, FORMAT_PROPS_MAX_BYTES) };
      }
      case 'text':
      case 'optionalText':
        return this.#wholeText(kind);
    }
  }

  #wholeText(kind: 'text' | 'optionalText'): string | undefined {
    const start = this.#offset + 1;
    const beginning = this.#excerpt();
    if (kind === 'text' && beginning === undefined) throw this.#error('expected text, got noText');
    const end = this.#offset - 1;
    return end - start > TEXT_MAX_BYTES ? this.#bytes.toString('utf8', start, end) : beginning;
  }

  #excerpt(): string | undefined {
    const bytes = this.#bytes;
    const tag = bytes[this.#offset];
    if (tag === TAG.noText) {
      this.#advance(1);
      return undefined;
    }
    if (tag !== TAG.text) throw this.#unexpected(TAG.text);
    const start = this.#offset + 1;
    let end = start;
    // Texts are short: a loop finds the end sooner than a call of indexOf.
    while (end < this.#end && bytes[end] !== 0) end += 1;
    if (end >= this.#end) throw this.#error('a text without its end');
    this.#offset = end + 1;
    return this.#texts.text(bytes, this.#view, start, end);
  }

  /** In most cases the list is the cached one. */
  #list(place: number, maxBytes?: number): Properties {
    const start = this.#offset;
    const lists = this.#texts.lists;
    const known = lists.find(place, this.#bytes, start);
    if (known !== undefined) {
      this.#advance(known.length);
      return known.props;
    }
    const props = this.#decodeList(new PropertyBudget(maxBytes));
    lists.keep(place, this.#bytes, start, this.#offset, props);
    return props;
  }

  #decodeList(budget: PropertyBudget): Properties {
    this.#take(TAG.props, 0);
    const props = new PropertyList();
    for (let from = this.#offset, key = this.#excerpt(); key !== undefined; key = this.#excerpt()) {
      const keyBytes = this.#offset - from - TEXT_FRAME_BYTES;
      const start = this.#propValue();
      if (budget.admits(key, keyBytes, this.#offset - start)) props[key] = this.#valueText(start);
      from = this.#offset;
    }
    return props;
  }

  /**
   * Skips a value and returns where its bytes begin; the length occurs twice before them. Checked in one go,
   * not by u32() and a read of bytes, because half of a list's values are such.
   */
  #propValue(): number {
    const bytes = this.#bytes;
    const at = this.#offset;
    if (bytes[at] !== TAG.u32) throw this.#unexpected(TAG.u32);
    this.#advance(PROP_HEADER_BYTES);
    const announced = this.#view.getUint32(at + 1);
    const length = this.#view.getUint32(at + 6);
    if (bytes[at + 5] !== TAG.bytes || length !== announced)
      throw this.#error(`a value of ${length} bytes that was announced with ${announced}`);
    return this.#advance(length);
  }

  /** The value from `start` to here: by convention text that ends with a NUL, which is not part of it. */
  #valueText(start: number): string {
    const end = this.#offset;
    const ended = end > start && this.#bytes[end - 1] === 0;
    return this.#texts.text(this.#bytes, this.#view, start, ended ? end - 1 : end);
  }

  /** Checks the tag, skips it and `size` further bytes, and returns where those begin. */
  #take(expected: number, size: number): number {
    if (this.#bytes[this.#offset] !== expected) throw this.#unexpected(expected);
    this.#offset += 1;
    return this.#advance(size);
  }

  #advance(size: number): number {
    const start = this.#offset;
    if (start + size > this.#end) throw this.#error(`the frame ends within ${size} bytes`);
    this.#offset = start + size;
    return start;
  }

  #unexpected(expected: number): WireError {
    const got = this.#offset < this.#end ? this.#bytes[this.#offset] : undefined;
    return this.#error(`expected ${describeTag(expected)}, got ${describeTag(got)}`);
  }

  #error(what: string): WireError {
    return new WireError(`at byte ${this.#offset - this.#start} of the payload: ${what}`);
  }
}
