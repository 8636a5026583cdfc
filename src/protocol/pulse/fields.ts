// Defines how each kind of field is read and written. A table of fields makes one more kind: it reads a
// record, which here is a decoded object with a member for each field. Pure.

import type { Format, Reader, SampleSpec, ValueTypes } from './reader.js';
import type { Properties } from './text-cache.js';
import { NEWEST_VERSION, NONE, OLDEST_VERSION, TYPE_TAG } from './wire.js';
import type { Writer } from './writer.js';

export interface Readable<T> {
  /**
   * The protocol version that introduced the field. Absent if all versions that we can read have the field.
   */
  readonly since?: number;
  read(reader: Reader): T;
}

export interface Writable<T> {
  write(writer: Writer, value: T): void;
}

/**
 * Makes a kind of field that is only read. `ValueTypes` in reader.ts explains the kinds, such as `ownIndex`.
 */
function readableKind<K extends keyof ValueTypes>(name: K): Readable<ValueTypes[K]> {
  // The compiler does not know that the result has the type of this kind, because `Reader.value` returns the
  // same type for all kinds.
  return { read: (reader) => reader.value(name) as ValueTypes[K] };
}

/** Makes a kind of field that is also written. `write` calls the writer's method for this kind. */
function writableKind<K extends keyof ValueTypes, T>(
  name: K,
  write: (writer: Writer, value: T) => void,
): Readable<ValueTypes[K]> & Writable<T> {
  return { ...readableKind(name), write };
}

export const u32 = writableKind('u32', (writer, value: number) => writer.u32(value));
/**
 * The index of another object, or a number that the server may choose. Undefined is NONE on the wire: there
 * is no such object, or the server chooses the number.
 */
export const index = writableKind('index', (writer, value: number | undefined) => writer.u32(value ?? NONE));
export const ownIndex = readableKind('ownIndex');

/**
 * The object that a request is for. On the wire it is an index and then a name. NONE stands for no index, and
 * the null string for no name. The server refuses a request that has both index and name, and most requests
 * that have neither (INVALID). We always send the index and no name, because names are not unique.
 */
export const byIndex: Writable<number> = {
  write: (writer, value) => {
    writer.u32(value);
    writer.optionalText(undefined);
  },
};

/** A text that is always there. On the wire it looks like an optional text. */
export const text = writableKind('text', (writer, value: string) => writer.optionalText(value));
export const optionalText = readableKind('optionalText');
export const excerpt = readableKind('excerpt');
export const bool = writableKind('bool', (writer, value: boolean) => writer.bool(value));
export const volumes = writableKind('volumes', (writer, value: readonly number[]) => writer.volumes(value));
export const props = writableKind('props', (writer, value: Properties) => writer.props(value));
export const bytes: Writable<Uint8Array> = { write: (writer, value) => writer.bytes(value) };
export const usec = readableKind('usec');
export const u8 = readableKind('u8');
export const volume = readableKind('volume');
export const format = readableKind('format');
export const sampleSpec = writableKind('sampleSpec', (writer, value: SampleSpec) => writer.sampleSpec(value));
export const channelMap = writableKind('channelMap', (writer, value: readonly number[]) =>
  writer.channelMap(value),
);

/** An integer of 64 bits with a sign, read as a number if this is exact, else as the text of its digits. */
export const s64: Readable<number | string> = {
  read: (reader) => {
    const value = reader.takeBytes(TYPE_TAG.s64, 8).readBigInt64BE();
    const number = Number(value);
    return Number.isSafeInteger(number) ? number : `${value}`;
  },
};

/** Formats that we offer to the server in place of the sample spec. Their count comes first, as a u8. */
export const formats: Writable<readonly Format[]> = {
  write: (writer, values) => {
    writer.u8(values.length);
    for (const value of values) writer.format(value);
  },
};

/** A field that only this protocol version and newer ones have. The oldest version is 32. */
export function since<T>(version: 33 | 34 | 35, kind: Readable<T>): Readable<T | undefined> {
  return { since: version, read: kind.read };
}

type FieldTable = Readonly<Record<string, Readable<unknown>>>;

/** The type of a field's value: `typeof volume` makes `number`. */
type FieldValue<Field> = Field extends Readable<infer Value> ? Value : never;

/**
 * The names of fields that may be missing: `{ name: typeof text, ports: Readable<Port[] | undefined> }`
 * gives `'ports'`.
 */
type OptionalNames<F extends FieldTable> = {
  [K in keyof F]: undefined extends FieldValue<F[K]> ? K : never;
}[keyof F];

/**
 * The type of a record whose table is `F`: `{ name: typeof text, mute: typeof bool }` makes
 * `{ name: string, mute: boolean }`. Fields that may be missing on the wire are optional.
 */
export type RecordOf<F extends FieldTable> = {
  readonly [K in Exclude<keyof F, OptionalNames<F>>]: FieldValue<F[K]>;
} & {
  readonly [K in OptionalNames<F>]?: FieldValue<F[K]> | undefined;
};

/** The fields of a table in one protocol version. To save time, each layout is made only once. */
interface Layout {
  /** In wire order. */
  readonly rows: readonly { readonly name: string; readonly kind: Readable<unknown> }[];
  /**
   * An object that has all names of `rows`, each with the value undefined. Each record begins as a copy of
   * this object. To add the members one by one would take a tenth more time, and twice the heap.
   */
  readonly emptyRecord: Readonly<Record<string, unknown>>;
}

/**
 * Only the compiler needs this layout: each version that `negotiate` (wire.ts) returns has a layout of its
 * own.
 */
const EMPTY_LAYOUT: Layout = { rows: [], emptyRecord: {} };

/** One layout for each version that we can read, the oldest version first. */
function layoutsOf(fields: FieldTable): readonly Layout[] {
  const allRows = Object.entries(fields).map(([name, kind]) => ({ name, kind }));
  return Array.from({ length: NEWEST_VERSION - OLDEST_VERSION + 1 }, (_, position) => {
    const version = OLDEST_VERSION + position;
    const rows = allRows.filter(({ kind }) => (kind.since ?? 0) <= version);
    return { rows, emptyRecord: Object.fromEntries(rows.map(({ name }) => [name, undefined])) };
  });
}

/** Makes the kind that reads a record: the fields of the negotiated version, in the order of the table. */
export function record<const F extends FieldTable>(fields: F): Readable<RecordOf<F>> {
  const layouts = layoutsOf(fields);
  return {
    read: (reader) => {
      const { rows, emptyRecord } = layouts[reader.version - OLDEST_VERSION] ?? EMPTY_LAYOUT;
      const value = { ...emptyRecord };
      for (const { name, kind } of rows) value[name] = kind.read(reader);
      // The compiler does not know that the loop has given every field its value.
      return value as RecordOf<F>;
    },
  };
}

/** `listToEnd` keeps at most this many values of a list. PulseAudio 16 allows 256 streams per sink. */
export const RECORDS_MAX = 512;

/**
 * A list without a count, which ends where the frame ends. Values beyond RECORDS_MAX are read and dropped.
 */
export function listToEnd<T>(kind: Readable<T>): Readable<T[]> {
  return {
    read: (reader) => {
      const values: T[] = [];
      while (!reader.isAtEnd) {
        const value = kind.read(reader);
        if (values.length < RECORDS_MAX) values.push(value);
      }
      return values;
    },
  };
}

/**
 * A list after its count. If the count is too large, the loop reads on after the list. It then throws
 * WireError at a type tag that does not fit, or at the frame's end.
 */
function listAfterCount<T>(count: Readable<number>, kind: Readable<T>): Readable<T[]> {
  return {
    read: (reader) => {
      const values: T[] = [];
      for (let remaining = count.read(reader); remaining > 0; remaining -= 1) values.push(kind.read(reader));
      return values;
    },
  };
}

export const listAfterU32 = <T>(kind: Readable<T>): Readable<T[]> => listAfterCount(u32, kind);
export const listAfterU8 = <T>(kind: Readable<T>): Readable<T[]> => listAfterCount(u8, kind);

/** A reply without values. */
export const acknowledgement: Readable<undefined> = { read: () => undefined };
