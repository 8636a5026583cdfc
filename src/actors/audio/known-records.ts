// Finds a record by the id that a client has written. Removes records that are not in the server's list.
// Pure.

import type { ChannelParts } from '../../protocol/pulse/volume.js';

/** A record of the server as last read. */
export interface KnownRecord<R> {
  readonly info: R;
  /**
   * The balance is remembered, because silent channels do not show it. Undefined if the channels have always
   * been silent.
   */
  readonly balance: ChannelParts | undefined;
}

/** An id as clients write it: decimal, without leading zeros. */
const ID = /^(?:0|[1-9]\d{0,9})$/;

export function findById<R>(records: ReadonlyMap<number, R>, ref: string): R | undefined {
  return ID.test(ref) ? records.get(Number(ref)) : undefined;
}

/**
 * Calls `removeOne` for each known record that is not in the list. Returns the list without the records in
 * `removed`, because these were removed while the list was read.
 */
export function removeUnlisted<R extends { readonly index: number }>(
  list: readonly R[],
  removed: ReadonlySet<number>,
  known: ReadonlyMap<number, unknown>,
  removeOne: (index: number) => void,
): R[] {
  const present = list.filter((info) => !removed.has(info.index));
  const indices = new Set(present.map((info) => info.index));
  for (const index of [...known.keys()]) if (!indices.has(index)) removeOne(index);
  return present;
}
