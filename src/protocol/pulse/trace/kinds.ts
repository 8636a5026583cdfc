// The kinds of value that only a trace reads, beside those of ../fields.ts, with names for numbers where people know them. Their
// results fit into JSON: null is the wire's "none".

import { excerpt, type Readable, u32 } from '../fields.js';
import { serverFault } from '../outcome.js';
import { decodeEvent, FACILITIES } from '../records.js';
import { NONE, TAG, WireError } from '../wire.js';

export type Value =
  | string
  | number
  | boolean
  | null
  | readonly Value[]
  | { readonly [name: string]: Value | undefined };

/** In wire order. */
export type Fields = Readonly<Record<string, Readable<unknown>>>;

const mapped = <T, U>(kind: Readable<T>, name: (value: T) => U): Readable<U> => ({
  read: (reader) => name(kind.read(reader)),
});

const listed = (names: readonly string[]): Readable<string | number> =>
  mapped(u32, (value) => names[value] ?? value);

/** Texts up to the null text or to the end: keys of properties, names of deleted entries. */
export const nameList: Readable<string[]> = {
  read: (reader) => {
    const all: string[] = [];
    while (!reader.atEnd) {
      const one = excerpt.read(reader);
      if (one === undefined) break;
      all.push(one);
    }
    return all;
  },
};

/** 64 bits, as a number if that is exact. */
export const u64: Readable<number | string> = {
  read: (reader) => {
    const value = reader.block(TAG.u64, 8).readBigUInt64BE();
    const number = Number(value);
    return Number.isSafeInteger(number) ? number : `${value}`;
  },
};

/** Seconds, since the epoch or since another moment. */
export const time: Readable<number> = {
  read: (reader) => {
    const words = reader.block(TAG.time, 8);
    return (words.readUInt32BE(0) * 1e6 + words.readUInt32BE(4)) / 1e6;
  },
};

/** Secret bytes: only their number is shown. */
export const secret: Readable<string> = {
  read: (reader) => {
    const rest = reader.rest();
    const length = rest.length < 5 ? 0 : rest.readUInt32BE(1);
    reader.block(TAG.bytes, 4 + length);
    return `${length} bytes`;
  },
};

/** Without the upper bits: these are flags, which a trace declines and shows separately. */
export const protocolVersion: Readable<number> = mapped(u32, (word) => word & 0xffff);

/** Names from pulse/sample.h. */
const SAMPLE_FORMATS = [
  ...['u8', 'alaw', 'ulaw', 's16le', 's16be', 'float32le', 'float32be', 's32le', 's32be', 's24le', 's24be'],
  ...['s24-32le', 's24-32be'],
];

export const samples: Readable<object> = {
  read: (reader) => {
    const { format, ...others } = reader.sampleSpec();
    return { format: SAMPLE_FORMATS[format] ?? format, ...others };
  },
};

/** Names from pulse/channelmap.h. */
const POSITIONS = [
  ...['mono', 'front-left', 'front-right', 'front-center', 'rear-center', 'rear-left', 'rear-right', 'lfe'],
  ...['front-left-of-center', 'front-right-of-center', 'side-left', 'side-right'],
  ...Array.from({ length: 32 }, (_, at) => `aux${at}`),
  ...['top-center', 'top-front-left', 'top-front-right', 'top-front-center'],
  ...['top-rear-left', 'top-rear-right', 'top-rear-center'],
];

export const positions: Readable<(string | number)[]> = {
  read: (reader) => reader.channelMap().map((position) => POSITIONS[position] ?? position),
};

/** Names from pulse/format.h. */
const ENCODINGS = [
  ...['any', 'pcm', 'ac3-iec61937', 'eac3-iec61937', 'mpeg-iec61937', 'dts-iec61937', 'mpeg2-aac-iec61937'],
  ...['truehd-iec61937', 'dtshd-iec61937'],
];

export const encoding: Readable<object> = {
  read: (reader) => {
    const { encoding: code, props } = reader.format();
    return { encoding: ENCODINGS[code] ?? code, props };
  },
};

export const fault: Readable<string | number> = mapped(u32, (code) => {
  const { name } = serverFault(code);
  return name === 'UNLISTED' ? code : name;
});

/** For example 'sink change'; an unknown kind is shown as its number. */
export const event: Readable<string | number> = mapped(u32, (word) => {
  try {
    const { facility, type } = decodeEvent(word, undefined);
    return `${facility} ${type}`;
  } catch (error) {
    if (error instanceof WireError) return word;
    throw error;
  }
});

/** The facilities of a subscription, followed by bits without a name as one number. */
export const facilities: Readable<(string | number)[]> = mapped(u32, (mask) => {
  const named = FACILITIES.filter((_, bit) => (mask & (1 << bit)) !== 0);
  const others = (mask >>> FACILITIES.length) * 2 ** FACILITIES.length;
  return others === 0 ? named : [...named, others];
});

/** Names from pulse/def.h and pulse/proplist.h. */
export const available = listed(['unknown', 'no', 'yes']);
export const updateMode = listed(['set', 'merge', 'replace']);

/** The state of a sink or source; null if it has not begun yet (-1 on the wire). */
export const deviceState: Readable<string | number | null> = mapped(u32, (state) =>
  state === NONE ? null : (['running', 'idle', 'suspended'][state] ?? state),
);
