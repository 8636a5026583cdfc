// What turns a table of fields into something that reads: records, lists of them, and their TypeScript types. Pure.

import type { Readable } from './kinds.js';
import type { Reader } from './reader.js';
import { NEWEST_VERSION, OLDEST_VERSION } from './versions.js';

type Fields = Readonly<Record<string, Readable<unknown>>>;
type ValueOf<F> = F extends Readable<infer T> ? T : never;
type OptionalNames<F extends Fields> = {
  [K in keyof F]: undefined extends ValueOf<F[K]> ? K : never;
}[keyof F];

/** The type of a record whose table is `F`: what may be missing on the wire may be missing here. */
export type RecordOf<F extends Fields> = {
  readonly [K in Exclude<keyof F, OptionalNames<F>>]: ValueOf<F[K]>;
} & {
  readonly [K in OptionalNames<F>]?: ValueOf<F[K]> | undefined;
};

interface Row {
  readonly name: string;
  readonly kind: Readable<unknown>;
}

/** The rows that each version has, oldest first: found once per table instead of once per record. */
function rowsByVersion(fields: Fields): readonly (readonly Row[])[] {
  const rows = Object.entries(fields).map(([name, kind]) => ({ name, kind }));
  return Array.from({ length: NEWEST_VERSION - OLDEST_VERSION + 1 }, (_, at) =>
    rows.filter(({ kind }) => (kind.since ?? 0) <= OLDEST_VERSION + at),
  );
}

/** Reads one record: the fields that the reader's version has, in the table's order. */
export function record<const F extends Fields>(fields: F): Readable<RecordOf<F>> {
  const byVersion = rowsByVersion(fields);
  return {
    read: (reader) => {
      const value: Record<string, unknown> = {};
      for (const row of byVersion[reader.version - OLDEST_VERSION] ?? [])
        value[row.name] = row.kind.read(reader);
      // The rows are the fields that the type is made of, which the compiler cannot follow through the loop.
      return value as RecordOf<F>;
    },
  };
}

/** Reads values until the frame ends: the wire gives lists no count. */
export function listOf<T>(kind: Readable<T>): Readable<T[]> {
  return {
    read: (reader) => {
      const values: T[] = [];
      while (!reader.atEnd) values.push(kind.read(reader));
      return values;
    },
  };
}

/** Reads as many values as the count in front says. The frame bounds it, whatever the count claims. */
function countedBy<T>(readCount: (reader: Reader) => number, kind: Readable<T>): Readable<T[]> {
  return {
    read: (reader) => {
      const values: T[] = [];
      for (let left = readCount(reader); left > 0; left -= 1) values.push(kind.read(reader));
      return values;
    },
  };
}

export const counted = <T>(kind: Readable<T>): Readable<T[]> => countedBy((reader) => reader.u32(), kind);
export const countedByte = <T>(kind: Readable<T>): Readable<T[]> => countedBy((reader) => reader.u8(), kind);

/** A reply that says no more than that it was done. */
export const acknowledgement: Readable<undefined> = { read: () => undefined };
