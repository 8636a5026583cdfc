// Building blocks of field tables: the kinds of value, how each is read and, if we send it, written; and the
// function that turns a table into a record's reader with its TypeScript type. Pure.

import type { Format, Reader, SampleSpec, Values } from './reader.js';
import type { Properties } from './text-cache.js';
import { NEWEST_VERSION, NONE, OLDEST_VERSION, TAG } from './wire.js';
import type { Writer } from './writer.js';

export interface Readable<T> {
  /** The protocol version that introduced it; absent if all that we read have it. */
  readonly since?: number;
  read(reader: Reader): T;
}

export interface Writable<T> {
  write(writer: Writer, value: T): void;
}

function kind<K extends keyof Values>(name: K): Readable<Values[K]> {
  // The type of `value` cannot express that the result belongs to the kind.
  return { read: (reader) => reader.value(name) as Values[K] };
}

/** Also written, by the writer's method. */
function both<K extends keyof Values, T>(
  name: K,
  write: (writer: Writer, value: T) => void,
): Readable<Values[K]> & Writable<T> {
  return { ...kind(name), write };
}

export const u32 = both('u32', (writer, value: number) => writer.u32(value));
/**
 * A reference to another object, or a number that may be left to the server: the wire's "none", all ones, is
 * undefined.
 */
export const index = both('index', (writer, value: number | undefined) => writer.u32(value ?? NONE));
export const ownIndex = kind('ownIndex');

/**
 * Selects the object of a request. The wire has an index and a name; both, or neither, is refused (INVALID),
 * and names are not unique. So only the index is ever sent, followed by the null name.
 */
export const byIndex: Writable<number> = {
  write: (writer, value) => {
    writer.u32(value);
    writer.optionalText(undefined);
  },
};

export const text = both('text', (writer, value: string) => writer.optionalText(value));
export const optionalText = kind('optionalText');
export const excerpt = kind('excerpt');
export const bool = both('bool', (writer, value: boolean) => writer.bool(value));
export const volumes = both('volumes', (writer, value: readonly number[]) => writer.volumes(value));
export const props = both('props', (writer, value: Properties) => writer.props(value));
export const bytes: Writable<Uint8Array> = { write: (writer, value) => writer.bytes(value) };
export const usec = kind('usec');
export const u8 = kind('u8');
export const volume = kind('volume');
export const format = kind('format');
export const sampleSpec = both('sampleSpec', (writer, value: SampleSpec) => writer.sampleSpec(value));
export const channelMap = both('channelMap', (writer, value: readonly number[]) => writer.channelMap(value));

/** 64 bits with a sign, as a number if that is exact. */
export const s64: Readable<number | string> = {
  read: (reader) => {
    const value = reader.block(TAG.s64, 8).readBigInt64BE();
    const number = Number(value);
    return Number.isSafeInteger(number) ? number : `${value}`;
  },
};

/** Encodings that are offered instead of the sample spec, preceded by their count in one byte. */
export const formats: Writable<readonly Format[]> = {
  write: (writer, values) => {
    writer.u8(values.length);
    for (const value of values) writer.format(value);
  },
};

/** A field that came with a protocol version after the oldest that we read. */
export function since<T>(version: 33 | 34 | 35, kind: Readable<T>): Readable<T | undefined> {
  return { since: version, read: kind.read };
}

type FieldTable = Readonly<Record<string, Readable<unknown>>>;
/** The type that a field is read as: `typeof volume` makes `number`. */
type ValueOf<Field> = Field extends Readable<infer Value> ? Value : never;

/** `{ name: typeof text, ports: Readable<Port[] | undefined> }` makes `'ports'`. */
type OptionalNames<F extends FieldTable> = {
  [K in keyof F]: undefined extends ValueOf<F[K]> ? K : never;
}[keyof F];

/**
 * The type of a record whose table is `F`: `{ name: typeof text, mute: typeof bool }` makes
 * `{ name: string, mute: boolean }`. Fields that may be missing on the wire are optional.
 */
export type RecordOf<F extends FieldTable> = {
  readonly [K in Exclude<keyof F, OptionalNames<F>>]: ValueOf<F[K]>;
} & {
  readonly [K in OptionalNames<F>]?: ValueOf<F[K]> | undefined;
};

/** The fields of a table in one protocol version: computed once per table instead of once per record. */
interface Layout {
  /** In wire order. */
  readonly rows: readonly { readonly name: string; readonly kind: Readable<unknown> }[];
  /**
   * All names without values. Filling a copy takes a tenth less time than an object that grows, and half the
   * heap.
   */
  readonly empty: Readonly<Record<string, unknown>>;
}

const NOTHING: Layout = { rows: [], empty: {} };

/** One layout per version, oldest first. */
function layouts(fields: FieldTable): readonly Layout[] {
  const all = Object.entries(fields).map(([name, kind]) => ({ name, kind }));
  return Array.from({ length: NEWEST_VERSION - OLDEST_VERSION + 1 }, (_, at) => {
    const rows = all.filter(({ kind }) => (kind.since ?? 0) <= OLDEST_VERSION + at);
    return { rows, empty: Object.fromEntries(rows.map(({ name }) => [name, undefined])) };
  });
}

/** Reads one record: the fields of the reader's version, in the table's order. */
export function record<const F extends FieldTable>(fields: F): Readable<RecordOf<F>> {
  const byVersion = layouts(fields);
  return {
    read: (reader) => {
      const { rows, empty } = byVersion[reader.version - OLDEST_VERSION] ?? NOTHING;
      const value = { ...empty };
      for (const { name, kind } of rows) value[name] = kind.read(reader);
      // The rows are the fields of the type, which the compiler cannot follow through the loop.
      return value as RecordOf<F>;
    },
  };
}

/** Records kept of one list, the first. A sink has room for 256 streams (PulseAudio 16). */
export const RECORDS_MAX = 512;

/**
 * Reads values until the frame ends, because the wire gives lists no count. Values beyond RECORDS_MAX are
 * dropped.
 */
export function everyOf<T>(kind: Readable<T>): Readable<T[]> {
  return {
    read: (reader) => {
      const values: T[] = [];
      while (!reader.atEnd) {
        const value = kind.read(reader);
        if (values.length < RECORDS_MAX) values.push(value);
      }
      return values;
    },
  };
}

/** Reads as many values as the count before them says. The frame bounds them, whatever the count claims. */
function countedBy<T>(count: Readable<number>, kind: Readable<T>): Readable<T[]> {
  return {
    read: (reader) => {
      const values: T[] = [];
      for (let left = count.read(reader); left > 0; left -= 1) values.push(kind.read(reader));
      return values;
    },
  };
}

export const counted = <T>(kind: Readable<T>): Readable<T[]> => countedBy(u32, kind);
export const countedByte = <T>(kind: Readable<T>): Readable<T[]> => countedBy(u8, kind);

export const acknowledgement: Readable<undefined> = { read: () => undefined };
