// The current state as items that wait for one consumer. Pure: the state is handed in.
//
// What a consumer may rely on: removals of records that it may still hold, as far as they are known; then, per backend, a
// `backend.updated` whose state is the true one and whose detail is "snapshot": forget this backend's records, those that
// follow are all there are. The marker heals what no list of removals can: another boot, or an absence of a week.

import { NO_SEQUENCE } from './encode.js';
import { accepts, bitsOf, type Filter } from './filter.js';
import type { Occurrence } from './occurrence.js';
import { backendPart, type Part, partsOf } from './parts.js';
import { type Waiting, waitingOf } from './waiting.js';

/**
 * All items carry `sequence`, that of the newest event. By the outbox's rule only the last one shows it in its id, the others
 * that of what the client had `reached` before, so a snapshot that breaks off is begun anew. They weigh nothing: their texts are the mirror's own for as long as they are
 * true, and a snapshot larger than the outbox's bound must not be refused for ever.
 */
export function snapshotOf(
  state: readonly Occurrence[],
  removals: readonly Part[],
  sequence: number,
  filter: Filter,
  reached = NO_SEQUENCE,
): readonly Waiting[] {
  return [...removals, ...state.flatMap(snapshotParts)]
    .filter(({ type, backend }) => accepts(filter, bitsOf(type, backend)))
    .flatMap((part) => waitingOf(part, sequence))
    .map((waiting) => ({ ...waiting, reached, bytes: 0 }));
}

function snapshotParts(occurrence: Occurrence): readonly Part[] {
  if (occurrence.kind !== 'backend') return partsOf(occurrence);
  // A slot of its own: a live change of the backend's state follows the marker and must not take its place.
  return [backendPart({ ...occurrence, detail: 'snapshot' }, `snapshot/${occurrence.backend}`)];
}
