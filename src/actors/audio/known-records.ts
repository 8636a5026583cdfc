// Finds a record by the id that a client has written. Removes records that are not in the server's list.
// Pure.

import type { ChannelParts } from '../../protocol/pulse/volume.js';

/** A record of the server as last read. */
export interface KnownRecord<R> {
  readonly info: R;
  /** The balance is remembered, because silent channels do not show it. Undefined until it is known. */
  readonly balance: ChannelParts | undefined;
}

/** Matches an id as clients write it, such as `0` or `42`. A text such as `007` can only be a name. */
const ID = /^(?:0|[1-9]\d{0,9})$/;

export function findById<R>(records: ReadonlyMap<number, R>, ref: string): R | undefined {
  return ID.test(ref) ? records.get(Number(ref)) : undefined;
}

/**
 * `removed` has the indices that were removed while `list` was read, so these records are not present any
 * more. Calls `removeOne` for each known record that is not present. Returns the present records.
 */
export function removeUnlisted<R extends { readonly index: number }>(
  list: readonly R[],
  removed: ReadonlySet<number>,
  known: ReadonlyMap<number, unknown>,
  removeOne: (index: number) => void,
): R[] {
  const present = list.filter((info) => !removed.has(info.index));
  const presentIndices = new Set(present.map((info) => info.index));
  // The keys are copied, because `removeOne` may change the map.
  const knownIndices = [...known.keys()];
  for (const index of knownIndices) if (!presentIndices.has(index)) removeOne(index);
  return present;
}
