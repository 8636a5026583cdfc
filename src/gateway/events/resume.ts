// How a stream begins: live, with what its client missed, or with a snapshot (contract, section 5). A pure decision.

import { NO_SEQUENCE, sequenceOf } from './encode.js';
import type { EventQuery } from './query.js';
import type { Ring } from './ring.js';

export type Beginning =
  | { readonly from: 'live' }
  | { readonly from: 'replay'; readonly after: number }
  /** `after`: the client was last here at this event of this boot, so removals since then can be named. */
  | { readonly from: 'snapshot'; readonly after?: number };

/**
 * A resumable id wins over `snapshot=1`: a browser's EventSource reconnects to the URL it began with, and a replay
 * costs less and loses no action. An id that cannot be resumed is answered with a snapshot even unasked.
 */
export function beginning(
  { snapshot, lastEventId }: Pick<EventQuery, 'snapshot' | 'lastEventId'>,
  boot: string,
  ring: Ring,
): Beginning {
  if (lastEventId === undefined) return { from: snapshot ? 'snapshot' : 'live' };
  const after = sequenceOf(lastEventId, boot);
  if (after === undefined) return { from: 'snapshot' };
  if (after === NO_SEQUENCE) return { from: 'snapshot', after };
  switch (ring.reach(after)) {
    case 'replayable':
      return { from: 'replay', after };
    case 'expired':
      return { from: 'snapshot', after };
    case 'future':
      return { from: 'snapshot' };
  }
}
