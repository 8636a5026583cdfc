// One thing to be said to a consumer that is behind. Immutable, because all such consumers share it.

import type { EventType } from '../../protocol/actor/collections.js';
import type { Reached } from './encode.js';
import type { Item, Part } from './parts.js';

/** About what the field names, the id and the type of one event weigh. It also bounds the number of tiny events. */
const FRAME_OVERHEAD_BYTES = 64;

export interface Waiting {
  /** Where it waits, and takes the place of what waits there. */
  readonly place: string;
  /** Where an update of the same thing waits, which it supersedes; without it, it is never conflated. */
  readonly slot: string | undefined;
  /** Of its event. */
  readonly sequence: number;
  /** How far a client has come while others with the same sequence number are still to come. */
  readonly reached: Reached;
  readonly type: EventType;
  readonly listed: boolean;
  readonly json: string;
  /** What it counts against the bound of an outbox. */
  readonly bytes: number;
}

/** The items of one event, each waiting for itself. */
export function waitingOf({ type, listed, items }: Part, sequence: number): readonly Waiting[] {
  const reached = { states: sequence - 1, actions: sequence - 1 };
  return items.map((item) => {
    const { slot, json } = item;
    const place = placeOf(item, sequence);
    const bytes = Buffer.byteLength(place) + Buffer.byteLength(json) + FRAME_OVERHEAD_BYTES;
    return { place, slot, sequence, reached, type, listed, json, bytes };
  });
}

/**
 * A removal has a place of its own for each last word on its slot. A sound server that starts again counts anew, so the next
 * record under a key is another one with another name, and clients know records by their names (contract, section 2).
 */
function placeOf({ slot, removal = false, json }: Item, sequence: number): string {
  if (slot === undefined) return `#${sequence}`;
  return removal ? `-${slot}/${json}` : slot;
}
