// How a stream begins: live, with what its client missed, or with a snapshot (contract, section 5). A pure decision.

import { NO_SEQUENCE, type Reached, reachedIn } from './encode.js';
import type { EventQuery } from './query.js';
import type { History } from './ring.js';

export type Beginning =
  | { readonly from: 'live' }
  | { readonly from: 'replay'; readonly after: number }
  /** `after`: the client has been here in this boot, so removals and actions since then can be told. */
  | { readonly from: 'snapshot'; readonly after?: Reached };

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
