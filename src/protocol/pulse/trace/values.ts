// Reads the values of traced messages, each according to its type tag. Decides which numbers have names.

import * as fields from '../fields.js';
import { serverFault } from '../outcome.js';
import type { Reader } from '../reader.js';
import { decodeEvent, FACILITIES } from '../subscription.js';
import { describeTypeTag, NONE, TYPE_TAG, WireError } from '../wire.js';

/** A value of JSON, in which null means "none". */
export type Value =
  | string
  | number
  | boolean
  | null
  | readonly Value[]
  | { readonly [name: string]: Value | undefined };

export interface TypedValue {
  readonly type: string;
  readonly value: Value;
}

/** Names from pulse/sample.h. */
const SAMPLE_FORMATS =
  'u8 alaw ulaw s16le s16be float32le float32be s32le s32be s24le s24be s24-32le s24-32be'.split(' ');

/** Names from pulse/channelmap.h. */
const POSITIONS = [
  ...'mono front-left front-right front-center rear-center rear-left rear-right lfe'.split(' '),
  ...'front-left-of-center front-right-of-center side-left side-right'.split(' '),
  ...Array.from({ length: 32 }, (_, number) => `aux${number}`),
  ...'top-center top-front-left top-front-right top-front-center'.split(' '),
  ...'top-rear-left top-rear-right top-rear-center'.split(' '),
];

/** Names from pulse/format.h. */
const ENCODINGS = [
  ...'any pcm ac3-iec61937 eac3-iec61937 mpeg-iec61937 dts-iec61937 mpeg2-aac-iec61937'.split(' '),
  ...'truehd-iec61937 dtshd-iec61937'.split(' '),
];

/**
 * One reader for each type of value. Each type except `bool` has the name of a type tag (wire.ts).
 * VALUE_TAG_TYPES has the type tags whose names are no keys here.
 */
const READERS: Readonly<Record<string, (reader: Reader) => Value>> = {
  text: (reader) => fields.excerpt.read(reader) ?? null,
  /** A u32 is read like an index: 0xffffffff becomes null, because it means "none" in most fields. */
  u32: (reader) => fields.index.read(reader) ?? null,
  u8: fields.u8.read,
  /** The integer becomes a number if this is exact, else the text of its digits. */
  u64: (reader) => {
    const value = reader.takeBytes(TYPE_TAG.u64, 8).readBigUInt64BE();
    return Number.isSafeInteger(Number(value)) ? Number(value) : `${value}`;
  },
  s64: fields.s64.read,
  sampleSpec: (reader) => {
    const { format, ...others } = fields.sampleSpec.read(reader);
    return { format: SAMPLE_FORMATS[format] ?? format, ...others };
  },
  /** The trace has only the number of bytes, because the bytes may be a secret, such as the cookie. */
  bytes: (reader) => {
    // The length is in the four bytes after the type tag. If the frame is too short for the length or for
    // the bytes, `takeBytes` throws.
    const unread = reader.unreadBytes();
    const length = unread.length < 5 ? 0 : unread.readUInt32BE(1);
    reader.takeBytes(TYPE_TAG.bytes, 4 + length);
    return `${length} bytes`;
  },
  bool: fields.bool.read,
  /** The wire has seconds and microseconds, since the epoch or another moment. The trace has seconds. */
  time: (reader) => {
    const timeBytes = reader.takeBytes(TYPE_TAG.time, 8);
    // The sum, in microseconds, is exact. Only the division rounds.
    return (timeBytes.readUInt32BE(0) * 1e6 + timeBytes.readUInt32BE(4)) / 1e6;
  },
  usec: fields.usec.read,
  channelMap: (reader) => fields.channelMap.read(reader).map((position) => POSITIONS[position] ?? position),
  volumes: fields.volumes.read,
  volume: fields.volume.read,
  props: fields.props.read,
  format: (reader) => {
    const { encoding, props } = fields.format.read(reader);
    return { encoding: ENCODINGS[encoding] ?? encoding, props };
  },
};

/** The types of the type tags that are whole values. No bytes follow such a tag. */
const VALUE_TAG_TYPES: Readonly<Record<string, string>> = { noText: 'text', yes: 'bool', no: 'bool' };

/** Reads the next value. Throws WireError if the type tag is unknown, or if the frame has no whole value. */
export function readTypedValue(reader: Reader): TypedValue {
  const unread = reader.unreadBytes();
  const tagName = describeTypeTag(unread[0]);
  const type = VALUE_TAG_TYPES[tagName] ?? tagName;
  // For an unknown byte or the end of the frame, `tagName` is no key of READERS, for instance `byte 0x01`.
  const read = READERS[type];
  if (read === undefined) throw new WireError(`${unread.length} bytes more, from ${tagName} on`);
  return { type, value: read(reader) };
}

/** Returns what the trace has instead of a number: its name or names. A number without a name stays. */
export type Naming = (value: number) => Value;

/** Makes a naming by which each number is the index of its name in `names`. */
const nameFrom =
  (names: readonly string[]): Naming =>
  (value) =>
    names[value] ?? value;

/** Names from pulse/def.h and pulse/proplist.h. The keys are those that ./messages.ts uses. */
export const NAMINGS: Readonly<Record<string, Naming>> = {
  available: nameFrom(['unknown', 'no', 'yes']),
  updateMode: nameFrom(['set', 'merge', 'replace']),
  deviceState: nameFrom(['running', 'idle', 'suspended']),

  /**
   * The lower 16 bits are the version. The upper bits are flags of shared memory. `DecodedMessage.declined`
   * (conversation.ts) has the names of these flags.
   */
  protocolVersion: (word) => word & 0xffff,

  /** `serverFault` calls a code without a name UNLISTED. */
  fault: (code) => {
    const { name } = serverFault(code);
    return name === 'UNLISTED' ? code : name;
  },

  /**
   * The name has the form `sink change`. It does not depend on the object's index, so `decodeEvent` gets
   * NONE instead of the index.
   */
  event: (word) => {
    try {
      const { facility, type } = decodeEvent(word, NONE);
      return `${facility} ${type}`;
    } catch (error) {
      if (error instanceof WireError) return word;
      throw error;
    }
  },

  /**
   * The facilities of a subscription. Bits that have no name follow as one number: 0x401 becomes
   * `['sink', 1024]`.
   */
  facilities: (mask) => {
    const names = FACILITIES.filter((_, bit) => (mask & (1 << bit)) !== 0);
    // The shift drops the bits that have names. The multiplication puts the other bits back in their places.
    // A shift to the left would do so, too, but its result would be negative if the highest bit is set.
    const unnamedBits = (mask >>> FACILITIES.length) * 2 ** FACILITIES.length;
    return unnamedBits === 0 ? names : [...names, unnamedBits];
  },
};
