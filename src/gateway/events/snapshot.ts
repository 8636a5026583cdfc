// The current state as items that wait for one consumer. Pure: the state is handed in.
//
// What a consumer may rely on: actions that it has missed; removals of records that it may still hold, as far as they are
// known; then, per backend and whatever it filters, a mark: a `backend.updated` whose state is the true one and whose detail
// is "snapshot". Forget this backend's records, those that follow are all there are. It heals what no list of removals can:
// another boot, or an absence of a week.

import { NO_SEQUENCE } from './encode.js';
import { accepts, bitsOf, type Filter } from './filter.js';
import type { Occurrence } from './occurrence.js';
import { backendPart, type Part, partsOf } from './parts.js';
import type { FramedEvent } from './ring.js';
import { type Waiting, waitingOf } from './waiting.js';

/** What a snapshot is made of. */
export interface SnapshotContents {
  readonly actions: readonly FramedEvent[];
  readonly removals: readonly Part[];
  readonly state: readonly Occurrence[];
}

/**
 * All items carry `newest`, the sequence number of the newest event. By the outbox's rule only the last one shows it in its
 * id, the others how far the client has come: its state is where it had `reached` before, so a snapshot that breaks off is begun anew,
 * but of actions it has those that are written. They weigh nothing: their texts are the mirror's or the ring's own for as long
 * as they are true, and a snapshot larger than the outbox's bound must not be refused for ever.
 */
export function snapshotOf(
  { actions, removals, state }: SnapshotContents,
  newest: number,
  filter: Filter,
  reached = NO_SEQUENCE,
): readonly Waiting[] {
  const isWanted = ({ type, backend }: Part): boolean => accepts(filter, bitsOf(type, backend));
  const owed = (part: Part, sequence: number, heard: number): readonly Waiting[] =>
    waitingOf(part, sequence).map((waiting) => ({
      ...waiting,
      sequence: newest,
      reached: { states: reached, actions: heard },
      bytes: 0,
    }));
  return [
    ...actions.flatMap(({ action, sequence }) =>
      action !== undefined && isWanted(action) ? owed(action, sequence, sequence) : [],
    ),
    ...[...removals, ...state.flatMap(snapshotParts)]
      .filter((part) => part.type === 'backend.updated' || isWanted(part))
      .flatMap((part) => owed(part, newest, newest)),
  ];
}

function snapshotParts(occurrence: Occurrence): readonly Part[] {
  if (occurrence.kind !== 'backend') return partsOf(occurrence);
  // A slot of its own: a live change of the backend's state follows the mark and must not take its place.
  return [backendPart({ ...occurrence, detail: 'snapshot' }, `snapshot/${occurrence.backend}`)];
}
