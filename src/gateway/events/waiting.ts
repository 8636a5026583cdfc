// One thing to be said to a consumer that is behind. Immutable, because all such consumers share it.

import type { EventType } from '../../protocol/actor/collections.js';
import type { Part } from './parts.js';

/** About what the field names, the id and the type of one event weigh. It also bounds the number of tiny events. */
const FRAME_OVERHEAD_BYTES = 64;

export interface Waiting {
  /** What it is conflated by; without it, it is never conflated. */
  readonly slot: string | undefined;
  /** Of its event. */
  readonly sequence: number;
  readonly type: EventType;
  readonly listed: boolean;
  readonly json: string;
  /** What it counts against the bound of an outbox. */
  readonly bytes: number;
}

/** The items of one event, each waiting for itself. */
export function waitingOf({ type, listed, items }: Part, sequence: number): readonly Waiting[] {
  return items.map(({ slot, json }) => ({
    slot,
    sequence,
    type,
    listed,
    json,
    bytes: Buffer.byteLength(json) + FRAME_OVERHEAD_BYTES,
  }));
}
