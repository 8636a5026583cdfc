// One event of the stream in its three shapes: as the mirror says it, as the hub frames it, and as it waits for a slow
// consumer. Types, and how the first is made. Pure.

import type { Backend, BackendHealth } from '../../protocol/actor/backends.js';
import {
  ACTIONS,
  type ActionEvent,
  COLLECTIONS,
  type Collection,
  type CollectionSpec,
  type EventType,
} from '../../protocol/actor/collections.js';
import type { ReachedEvents } from './encode.js';
import { bitsOf, type Filter } from './query.js';

/** A longer list becomes several events, so that no frame is much larger than this and one record. In UTF-16 units. */
const LIST_LENGTH_MAX = 128 * 1024;

/** What one event says of one thing; `json` was encoded by its actor. */
export interface EventRecord {
  /** Names the thing, for conflation; an action has none and is never conflated, never reordered. */
  readonly slot?: string;
  /** For a removal it is the record's last text. */
  readonly json: string;
}

/** Made by the mirror, for the hub: something happened. `listed`: data is the array of all records; else there is exactly one. */
export interface StreamEvent {
  readonly type: EventType;
  /** The filters that let it in. */
  readonly bits: Filter;
  readonly listed: boolean;
  /** The last word on each of its records: what comes under the slot afterwards is another one. */
  readonly removal: boolean;
  readonly records: readonly EventRecord[];
}

/** Made by the hub, once: the bytes that streams are sent and the ring keeps, and what slow consumers are owed instead. */
export interface FramedEvent {
  readonly sequence: number;
  readonly bits: Filter;
  readonly frame: Uint8Array;
  /** The ring keeps none of a state's, whose text the mirror has. */
  readonly entries: readonly QueueEntry[];
}

/** One record of an event, for queues, tombstones and snapshots. Immutable, because all slow consumers share it. */
export interface QueueEntry {
  /** Under which it waits, instead of what waits there. */
  readonly key: string;
  /** The key of an update of the same thing, which it supersedes; without it, it is never conflated. */
  readonly slot: string | undefined;
  /** Of its event. */
  readonly sequence: number;
  /** How far a client has come while others with the same sequence number are still to come. */
  readonly reached: ReachedEvents;
  readonly type: EventType;
  readonly bits: Filter;
  readonly listed: boolean;
  readonly json: string;
  /** What it counts against the bound of a queue. */
  readonly bytes: number;
}

/** The current state as events: of each backend a mark first, then its records, in collection order. */
export interface SnapshotSource {
  snapshot(): readonly StreamEvent[];
}

/** Changes of one kind in one collection, texts by key, as its shape asks for; none where such changes are no events. */
export function recordEvents(
  collection: Collection,
  removal: boolean,
  texts: ReadonlyMap<string, string>,
): readonly StreamEvent[] {
  const { backend, updated, removed, shape }: CollectionSpec = COLLECTIONS[collection];
  const type = removal ? removed : updated;
  if (type === undefined) return [];
  const bits = bitsOf(type, backend);
  const listed = shape === 'list';
  const groups: EventRecord[][] = [];
  let length = Number.POSITIVE_INFINITY;
  for (const [key, json] of texts) {
    if (!listed || length + json.length > LIST_LENGTH_MAX) {
      groups.push([]);
      length = 0;
    }
    // No collection's name holds a slash.
    groups.at(-1)?.push({ slot: `${collection}/${key}`, json });
    length += json.length;
  }
  return groups.map((records) => ({ type, bits, listed, removal, records }));
}

export function actionEvent(type: ActionEvent, json: string): StreamEvent {
  return { type, bits: bitsOf(type, ACTIONS[type]), listed: false, removal: false, records: [{ json }] };
}

/** The state of a backend, which has no actor to encode it. */
export function backendEvent(
  backend: Backend,
  { state, detail }: Pick<BackendHealth, 'state' | 'detail'>,
  slot = `backend/${backend}`,
): StreamEvent {
  const type = 'backend.updated';
  const json = JSON.stringify({ backend, state, detail });
  return { type, bits: bitsOf(type, backend), listed: false, removal: false, records: [{ slot, json }] };
}

/**
 * Begins what a snapshot says of a backend: forget its records, those that follow are all there are. Its slot is its own: a
 * live change of the backend's state follows the mark and must not supersede it.
 */
export function snapshotMark(backend: Backend, { state }: Pick<BackendHealth, 'state'>): StreamEvent {
  return backendEvent(backend, { state, detail: 'snapshot' }, `snapshot/${backend}`);
}
