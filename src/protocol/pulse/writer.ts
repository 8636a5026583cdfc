// Writes one command as a frame. It refuses values that do not fit the wire; their meaning is the caller's responsibility.

import { CONTROL_CHANNEL, HEADER_BYTES } from './frame.js';
import type { Format, SampleSpec } from './reader.js';
import { RAW_MAX } from './volume.js';
import { NONE, TAG, WireError } from './wire.js';

/** Large enough for most requests. From Node's pool, which takes half the time of a separate buffer. */
const INITIAL_BYTES = 64;
const U8_MAX = 0xff;
const U32_MAX = 0xffffffff;
const TWO_TO_32 = 0x1_0000_0000;
/** PA_CHANNELS_MAX. pipewire accepts more, and mangles them. */
const CHANNELS_MAX = 32;

export class Writer {
  #bytes = Buffer.allocUnsafe(INITIAL_BYTES);
  #length = HEADER_BYTES;

  /** Begins a frame: every command starts with its code and its tag. */
  constructor(code: number, tag: number) {
    this.u32(code);
    this.u32(tag);
  }

  frame(): Uint8Array {
    this.#bytes.writeUInt32BE(this.#length - HEADER_BYTES, 0);
    this.#bytes.writeUInt32BE(CONTROL_CHANNEL, 4);
    // No offset and no flags: three words.
    for (let at = 8; at < HEADER_BYTES; at += 4) this.#bytes.writeUInt32BE(0, at);
    return this.#bytes.subarray(0, this.#length);
  }

  u32(value: number): void {
    this.#tag(TAG.u32);
    this.#writeU32(value);
  }

  u8(value: number): void {
    this.#tag(TAG.u8);
    this.#byte(value);
  }

  /** A u32 that may be the wire's "none". */
  index(value: number | undefined): void {
    this.u32(value ?? NONE);
  }

  bool(value: boolean): void {
    this.#tag(value ? TAG.yes : TAG.no);
  }

  optionalText(value: string | undefined): void {
    if (value?.includes('\0')) throw new WireError('a text with a NUL in it');
    this.#tag(value === undefined ? TAG.noText : TAG.text);
    if (value !== undefined) this.#text(value, Buffer.byteLength(value));
  }

  bytes(value: Uint8Array): void {
    this.#tag(TAG.bytes);
    this.#writeU32(value.length);
    this.#raw(value);
  }

  /** Microseconds, as the reader returns them. */
  usec(value: number): void {
    this.#tag(TAG.usec);
    this.#writeU32(Math.floor(value / TWO_TO_32));
    this.#writeU32(value % TWO_TO_32);
  }

  sampleSpec({ format, channels, rate }: SampleSpec): void {
    this.#tag(TAG.sampleSpec);
    this.#byte(format);
    this.#byte(channels);
    this.#writeU32(rate);
  }

  channelMap(positions: readonly number[]): void {
    this.#channels(TAG.channelMap, positions.length);
    for (const position of positions) this.#byte(position);
  }

  volumes(values: readonly number[]): void {
    this.#channels(TAG.volumes, values.length);
    for (const value of values) {
      // pipewire accepts larger ones without complaint.
      if (value > RAW_MAX) throw new WireError(`a volume of ${value}`);
      this.#writeU32(value);
    }
  }

  props(values: Readonly<Record<string, string>>): void {
    this.#tag(TAG.props);
    for (const [key, value] of Object.entries(values)) {
      const length = Buffer.byteLength(value);
      this.optionalText(key);
      this.u32(length + 1);
      this.#tag(TAG.bytes);
      this.#writeU32(length + 1);
      this.#text(value, length);
    }
    this.optionalText(undefined);
  }

  format({ encoding, props }: Format): void {
    this.#tag(TAG.format);
    this.u8(encoding);
    this.props(props);
  }

  #channels(tag: number, count: number): void {
    if (count === 0 || count > CHANNELS_MAX)
      throw new WireError(`${count} channels, not 1 to ${CHANNELS_MAX}`);
    this.#tag(tag);
    this.#byte(count);
  }

  #tag(tag: number): void {
    this.#reserve(1);
    this.#bytes[this.#length] = tag;
    this.#length += 1;
  }

  #byte(value: number): void {
    if (!Number.isInteger(value) || value < 0 || value > U8_MAX) throw new WireError(`${value} is not a u8`);
    this.#reserve(1);
    this.#length = this.#bytes.writeUInt8(value, this.#length);
  }

  #writeU32(value: number): void {
    if (!Number.isInteger(value) || value < 0 || value > U32_MAX)
      throw new WireError(`${value} is not a u32`);
    this.#reserve(4);
    this.#length = this.#bytes.writeUInt32BE(value, this.#length);
  }

  /** Adds a NUL at the end. `length`: the text's length in bytes. */
  #text(value: string, length: number): void {
    this.#reserve(length + 1);
    this.#bytes.write(value, this.#length);
    this.#length += length + 1;
    this.#bytes[this.#length - 1] = 0;
  }

  #raw(bytes: Uint8Array): void {
    this.#reserve(bytes.length);
    this.#bytes.set(bytes, this.#length);
    this.#length += bytes.length;
  }

  #reserve(more: number): void {
    const needed = this.#length + more;
    if (needed <= this.#bytes.length) return;
    const grown = Buffer.allocUnsafe(Math.max(needed, 2 * this.#bytes.length));
    this.#bytes.copy(grown, 0, 0, this.#length);
    this.#bytes = grown;
  }
}
