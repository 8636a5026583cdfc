// Finds a record by the id that a client has written. Compares the known records with a new list of the
// server. Pure.

import type { ChannelParts } from '../../protocol/pulse/volume.js';

/** A record of the server as last read. */
export interface KnownRecord<R> {
  readonly info: R;
  /** The balance is remembered, because channels of volume 0 do not show it. Undefined until it is known. */
  readonly balance: ChannelParts | undefined;
}

/**
 * Matches an id as clients write it, such as `0` or `42`. An id has 32 bits, so at most ten digits. A text
 * such as `007` can only be a name.
 */
const ID = /^(?:0|[1-9]\d{0,9})$/;

/** Undefined if `ref` is no id, or if no record has this id. */
export function findById<R>(records: ReadonlyMap<number, R>, ref: string): R | undefined {
  return ID.test(ref) ? records.get(Number(ref)) : undefined;
}

/** The records of `list` without those that were removed while the list was read. */
export function presentRecords<R extends { readonly index: number }>(
  list: readonly R[],
  removed: ReadonlySet<number>,
): R[] {
  return list.filter(({ index }) => !removed.has(index));
}

/** The indices of the known records that are not present any more. */
export function absentIndices(
  known: ReadonlyMap<number, unknown>,
  present: readonly { readonly index: number }[],
): readonly number[] {
  const presentIndices = new Set(present.map(({ index }) => index));
  return [...known.keys()].filter((index) => !presentIndices.has(index));
}
