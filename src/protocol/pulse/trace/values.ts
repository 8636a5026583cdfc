// Reads any value by the type that stands before it on the wire, as something that fits into JSON: null is
// the wire's "none". Numbers that people know by a name have it from the fields of ./messages.ts.

import * as fields from '../fields.js';
import { serverFault } from '../outcome.js';
import type { Reader } from '../reader.js';
import { decodeEvent, FACILITIES } from '../subscription.js';
import { describeTag, NONE, TAG, WireError } from '../wire.js';

export type Value =
  | string
  | number
  | boolean
  | null
  | readonly Value[]
  | { readonly [name: string]: Value | undefined };

/** A value with its type. */
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
  ...Array.from({ length: 32 }, (_, at) => `aux${at}`),
  ...'top-center top-front-left top-front-right top-front-center'.split(' '),
  ...'top-rear-left top-rear-right top-rear-center'.split(' '),
];

/** Names from pulse/format.h. */
const ENCODINGS = [
  ...'any pcm ac3-iec61937 eac3-iec61937 mpeg-iec61937 dts-iec61937 mpeg2-aac-iec61937'.split(' '),
  ...'truehd-iec61937 dtshd-iec61937'.split(' '),
];

/** By the names of types in ../wire.ts. */
const KINDS: Readonly<Record<string, (reader: Reader) => Value>> = {
  text: (reader) => fields.excerpt.read(reader) ?? null,
  u32: (reader) => fields.index.read(reader) ?? null,
  u8: fields.u8.read,
  /** 64 bits without a sign, as a number if that is exact. */
  u64: (reader) => {
    const value = reader.block(TAG.u64, 8).readBigUInt64BE();
    return Number.isSafeInteger(Number(value)) ? Number(value) : `${value}`;
  },
  s64: fields.s64.read,
  sampleSpec: (reader) => {
    const { format, ...others } = fields.sampleSpec.read(reader);
    return { format: SAMPLE_FORMATS[format] ?? format, ...others };
  },
  /** They may be a secret: only their number is printed. */
  bytes: (reader) => {
    const rest = reader.rest();
    const length = rest.length < 5 ? 0 : rest.readUInt32BE(1);
    reader.block(TAG.bytes, 4 + length);
    return `${length} bytes`;
  },
  bool: fields.bool.read,
  /** Seconds, since the epoch or since another moment. */
  time: (reader) => {
    const words = reader.block(TAG.time, 8);
    return (words.readUInt32BE(0) * 1e6 + words.readUInt32BE(4)) / 1e6;
  },
  usec: fields.usec.read,
  channelMap: (reader) => fields.channelMap.read(reader).map((at) => POSITIONS[at] ?? at),
  volumes: fields.volumes.read,
  volume: fields.volume.read,
  props: fields.props.read,
  format: (reader) => {
    const { encoding, props } = fields.format.read(reader);
    return { encoding: ENCODINGS[encoding] ?? encoding, props };
  },
};

/** Tags that are values themselves, with their types. */
const TYPES: Readonly<Record<string, string>> = { noText: 'text', yes: 'bool', no: 'bool' };

/** The next value. Throws WireError if there is none that can be read. */
export function valueIn(reader: Reader): TypedValue {
  const rest = reader.rest();
  const tag = describeTag(rest[0]);
  const type = TYPES[tag] ?? tag;
  const read = KINDS[type];
  if (read === undefined) throw new WireError(`${rest.length} bytes more, from ${tag} on`);
  return { type, value: read(reader) };
}

/** The name of a number, or the number if it has none. */
export type Naming = (value: number) => Value;

const listed =
  (names: readonly string[]): Naming =>
  (value) =>
    names[value] ?? value;

/** Names from pulse/def.h and pulse/proplist.h, by those of their kinds in ./messages.ts. */
export const NAMINGS: Readonly<Record<string, Naming>> = {
  available: listed(['unknown', 'no', 'yes']),
  updateMode: listed(['set', 'merge', 'replace']),
  deviceState: listed(['running', 'idle', 'suspended']),

  /** Without the upper bits: these are flags, which a trace declines and shows separately. */
  protocolVersion: (word) => word & 0xffff,

  fault: (code) => {
    const { name } = serverFault(code);
    return name === 'UNLISTED' ? code : name;
  },

  /** For example 'sink change'. */
  event: (word) => {
    try {
      const { facility, type } = decodeEvent(word, NONE);
      return `${facility} ${type}`;
    } catch (error) {
      if (error instanceof WireError) return word;
      throw error;
    }
  },

  /** The facilities of a subscription, followed by bits without a name as one number. */
  facilities: (mask) => {
    const named = FACILITIES.filter((_, bit) => (mask & (1 << bit)) !== 0);
    const others = (mask >>> FACILITIES.length) * 2 ** FACILITIES.length;
    return others === 0 ? named : [...named, others];
  },
};
