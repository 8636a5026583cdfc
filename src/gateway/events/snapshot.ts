// How a stream begins: live, with what its client missed, or with a snapshot; and what a snapshot says. Pure.
//
// What a consumer may rely on in a snapshot: actions that it has missed; removals of records that it may still hold, as far as
// they are known; then, per backend and whatever it filters, a mark: a `backend.updated` whose state is the true one and whose
// detail is "snapshot". Forget this backend's records, those that follow are all there are. It heals what no list of removals
// can: another boot, or an absence of a week.

import {
  type FramedEvent,
  NO_SEQUENCE,
  type QueueEntry,
  type ReachedEvents,
  reachedIn,
  type StreamEvent,
} from './event.js';
import { accepts, type EventQuery, type Filter } from './query.js';
import { entriesOf } from './queue.js';
import type { History } from './ring.js';

export type Beginning =
  | { readonly from: 'live' }
  | { readonly from: 'replay'; readonly after: number }
  /** `after`: the client has been here in this boot, so removals and actions since then can be told. */
  | { readonly from: 'snapshot'; readonly after?: ReachedEvents };

/**
 * A resumable id wins over `snapshot=1`: a browser's EventSource reconnects to the URL it began with, and a replay
 * tells every step. An id that cannot be resumed is answered with a snapshot even unasked.
 */
export function beginning(
  { snapshot, lastEventId, filter }: Pick<EventQuery, 'snapshot' | 'lastEventId' | 'filter'>,
  boot: string,
  history: History,
): Beginning {
  if (lastEventId === undefined) return { from: snapshot ? 'snapshot' : 'live' };
  const { newest } = history;
  const after = reachedIn(lastEventId, boot);
  if (after === undefined || after.states > newest || after.actions > newest) return { from: 'snapshot' };
  const { states, actions } = after;
  const isWhole = states === actions && states !== NO_SEQUENCE;
  const isHeld = history.ringsFor(filter).every((ring) => ring.reaches(states));
  return isWhole && isHeld ? { from: 'replay', after: states } : { from: 'snapshot', after };
}

/** What a snapshot is made of. */
export interface SnapshotContents {
  readonly actions: readonly FramedEvent[];
  readonly removals: readonly QueueEntry[];
  readonly state: readonly StreamEvent[];
}

/**
 * All entries carry `newest`, the sequence number of the newest event. By the queue's rule only the last one shows it in its
 * id, the others how far the client has come: its state is where it had `reached` before, so a snapshot that breaks off is begun anew,
 * but of actions it has those that are written. They weigh nothing: their texts are the mirror's or the ring's own for as long
 * as they are true, and a snapshot larger than the queue's bound must not be refused for ever.
 */
export function snapshotOf(
  { actions, removals, state }: SnapshotContents,
  newest: number,
  filter: Filter,
  reached = NO_SEQUENCE,
): readonly QueueEntry[] {
  const owed = (entry: QueueEntry, heard: number): QueueEntry => ({
    ...entry,
    sequence: newest,
    reached: { states: reached, actions: heard },
    bytes: 0,
  });
  return [
    ...actions
      .filter(({ bits }) => accepts(filter, bits))
      .flatMap(({ entries, sequence }) => entries.map((entry) => owed(entry, sequence))),
    ...[...removals, ...state.flatMap((event) => entriesOf(event, newest))]
      .filter(({ type, bits }) => type === 'backend.updated' || accepts(filter, bits))
      .map((entry) => owed(entry, newest)),
  ];
}
