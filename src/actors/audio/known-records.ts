// Finds the sink, source, stream or card that a reference means, and replaces all records of a kind by the
// list that the server has sent. Pure.

import type { Balance } from '../../protocol/pulse/volume.js';

/** A record together with its balance, which a reading of silent channels would lose. */
export interface KnownRecord<R> {
  readonly info: R;
  readonly balance: Balance | undefined;
}

/** An id as clients write it: decimal, without leading zeros. */
const ID = /^(?:0|[1-9]\d{0,9})$/;

export function byId<R>(records: ReadonlyMap<number, R>, ref: string): R | undefined {
  return ID.test(ref) ? records.get(Number(ref)) : undefined;
}

/**
 * Removes the known records that are not in the list. Returns the list without the records in `past`, which
 * were removed after it was made.
 */
export function keepOnly<R extends { readonly index: number }>(
  list: readonly R[],
  past: ReadonlySet<number>,
  known: ReadonlyMap<number, unknown>,
  remove: (index: number) => void,
): R[] {
  const live = list.filter((info) => !past.has(info.index));
  const indices = new Set(live.map((info) => info.index));
  for (const index of [...known.keys()]) if (!indices.has(index)) remove(index);
  return live;
}
