// Writes commands as frames, one behind the other. It refuses values that do not fit the wire, and does not
// know what the values mean.

import { CONTROL_CHANNEL, HEADER_BYTES } from './frame.js';
import type { Format, SampleSpec } from './reader.js';
import { RAW_MAX } from './volume.js';
import { TYPE_TAG, WireError } from './wire.js';

/**
 * Room for about two hundred requests. A new buffer costs half as much time as writing a small request, so
 * requests share a buffer.
 */
const BUFFER_BYTES = 8192;
const U8_MAX = 0xff;
const U32_MAX = 0xffffffff;
const TWO_TO_32 = 0x1_0000_0000;
/** PA_CHANNELS_MAX. PipeWire accepts more channels, and gets them wrong. */
const CHANNELS_MAX = 32;

const NO_BYTES = new Uint8Array(0);

export class Writer {
  /** Bytes that `take` has returned are never overwritten, because the socket may still read them. */
  #buffer = Buffer.allocUnsafeSlow(BUFFER_BYTES);
  /** The end of the bytes that `take` has returned. The first frame after them starts here. */
  #untakenStart = 0;
  /** The end of the last complete frame. */
  #completeEnd = 0;
  /** The end of what has been written of the unfinished frame. */
  #writtenEnd = 0;

  /** Begins a frame, with the command's code and tag. An unfinished frame before it is dropped. */
  begin(code: number, tag: number): void {
    this.#writtenEnd = this.#completeEnd;
    // This is the room for the header, which `end` writes.
    this.#grow(HEADER_BYTES);
    this.u32(code);
    this.u32(tag);
  }

  /** Completes the frame by writing its header. */
  end(): void {
    const bytes = this.#buffer;
    const start = this.#completeEnd;
    const payloadStart = start + HEADER_BYTES;
    bytes.writeUInt32BE(this.#writtenEnd - payloadStart, start);
    bytes.writeUInt32BE(CONTROL_CHANNEL, start + 4);
    // The rest of the header, offset and flags, is 0. With Node's `fill` the whole frame would take a
    // seventh longer (bench/FIGURES.md, "A change of a volume").
    for (let at = start + 8; at < payloadStart; at += 1) bytes[at] = 0;
    this.#completeEnd = this.#writtenEnd;
  }

  /** Returns the frames that were completed since the last call of `take`. */
  take(): Uint8Array {
    if (this.#untakenStart === this.#completeEnd) return NO_BYTES;
    const frames = this.#buffer.subarray(this.#untakenStart, this.#completeEnd);
    this.#untakenStart = this.#completeEnd;
    return frames;
  }

  u32(value: number): void {
    if (!Number.isInteger(value) || value < 0 || value > U32_MAX)
      throw new WireError(`${value} is not a u32`);
    // Type tag and number share one call of `#grow`, to save time, because most values are numbers.
    // `#typeTag` and `#word` would need two calls.
    const at = this.#grow(5);
    this.#buffer[at] = TYPE_TAG.u32;
    this.#buffer.writeUInt32BE(value, at + 1);
  }

  u8(value: number): void {
    this.#typeTag(TYPE_TAG.u8);
    this.#byte(value);
  }

  bool(value: boolean): void {
    this.#typeTag(value ? TYPE_TAG.yes : TYPE_TAG.no);
  }

  optionalText(value: string | undefined): void {
    // On the wire, a NUL ends the text.
    if (value?.includes('\0')) throw new WireError('a text with a NUL in it');
    this.#typeTag(value === undefined ? TYPE_TAG.noText : TYPE_TAG.text);
    if (value !== undefined) this.#text(value, Buffer.byteLength(value));
  }

  bytes(value: Uint8Array): void {
    this.#typeTag(TYPE_TAG.bytes);
    this.#word(value.length);
    const at = this.#grow(value.length);
    this.#buffer.set(value, at);
  }

  /** `value` is in microseconds. The wire has its upper 32 bits, then its lower 32 bits. */
  usec(value: number): void {
    this.#typeTag(TYPE_TAG.usec);
    this.#word(Math.floor(value / TWO_TO_32));
    this.#word(value % TWO_TO_32);
  }

  sampleSpec({ format, channels, rate }: SampleSpec): void {
    this.#typeTag(TYPE_TAG.sampleSpec);
    this.#byte(format);
    this.#byte(channels);
    this.#word(rate);
  }

  channelMap(positions: readonly number[]): void {
    this.#typeTagAndChannelCount(TYPE_TAG.channelMap, positions.length);
    for (const position of positions) this.#byte(position);
  }

  volumes(values: readonly number[]): void {
    this.#typeTagAndChannelCount(TYPE_TAG.volumes, values.length);
    let at = this.#grow(4 * values.length);
    for (const value of values) {
      // A volume above RAW_MAX is refused here, because PipeWire would accept it.
      const isRawVolume = value >= 0 && value <= RAW_MAX && Number.isInteger(value);
      if (!isRawVolume) throw new WireError(`a volume of ${value}`);
      at = this.#buffer.writeUInt32BE(value, at);
    }
  }

  props(values: Readonly<Record<string, string>>): void {
    this.#typeTag(TYPE_TAG.props);
    for (const [key, value] of Object.entries(values)) {
      const byteLength = Buffer.byteLength(value);
      const lengthWithNul = byteLength + 1;
      this.optionalText(key);
      // The wire has the length twice: as a value of its own, and after the type tag of the bytes.
      this.u32(lengthWithNul);
      this.#typeTag(TYPE_TAG.bytes);
      this.#word(lengthWithNul);
      this.#text(value, byteLength);
    }
    // An absent text in the place of a key ends the list.
    this.optionalText(undefined);
  }

  format({ encoding, props }: Format): void {
    this.#typeTag(TYPE_TAG.format);
    this.u8(encoding);
    this.props(props);
  }

  #typeTagAndChannelCount(typeTag: number, count: number): void {
    if (count === 0 || count > CHANNELS_MAX)
      throw new WireError(`${count} channels, not 1 to ${CHANNELS_MAX}`);
    const at = this.#grow(2);
    this.#buffer[at] = typeTag;
    this.#buffer[at + 1] = count;
  }

  #typeTag(typeTag: number): void {
    const at = this.#grow(1);
    this.#buffer[at] = typeTag;
  }

  #byte(value: number): void {
    if (!Number.isInteger(value) || value < 0 || value > U8_MAX) throw new WireError(`${value} is not a u8`);
    const at = this.#grow(1);
    this.#buffer[at] = value;
  }

  #word(value: number): void {
    if (!Number.isInteger(value) || value < 0 || value > U32_MAX)
      throw new WireError(`${value} is not a u32`);
    const at = this.#grow(4);
    this.#buffer.writeUInt32BE(value, at);
  }

  /** Writes the text, and a NUL after it. */
  #text(value: string, byteLength: number): void {
    const at = this.#grow(byteLength + 1);
    this.#buffer.write(value, at);
    this.#buffer[at + byteLength] = 0;
  }

  /** Makes room for more bytes, in a new buffer if necessary. Returns where this room begins. */
  #grow(moreBytes: number): number {
    if (this.#writtenEnd + moreBytes > this.#buffer.length) this.#replaceBuffer(moreBytes);
    const at = this.#writtenEnd;
    this.#writtenEnd = at + moreBytes;
    return at;
  }

  /**
   * Makes a new buffer. It begins with the bytes that `take` has not returned, and has room for `moreBytes`
   * after them. Its size is at least twice the needed size, so that a long frame is not copied for each of
   * its values.
   */
  #replaceBuffer(moreBytes: number): void {
    const oldStart = this.#untakenStart;
    const untakenLength = this.#writtenEnd - oldStart;
    const newBuffer = Buffer.allocUnsafeSlow(Math.max(BUFFER_BYTES, 2 * (untakenLength + moreBytes)));
    this.#buffer.copy(newBuffer, 0, oldStart, this.#writtenEnd);
    this.#buffer = newBuffer;
    this.#untakenStart = 0;
    this.#completeEnd -= oldStart;
    this.#writtenEnd = untakenLength;
  }
}
