// One event of the stream in its three shapes: as the mirror says it, as the hub frames it, and as it waits for a slow
// consumer; and how the stream spells it: texts in, bytes out (HTML standard, 9.2.5). Pure.

import type { BackendHealth, ChildName } from '../../protocol/actor/backends.js';
import {
  COLLECTIONS,
  type Collection,
  type CollectionSpec,
  type EventType,
  PASSING,
  type PassingEvent,
} from '../../protocol/actor/collections.js';
import { bitsOf, type Filter } from './query.js';

/** A longer list becomes several events, so that no frame is much larger than this and one record. In UTF-16 units. */
const LIST_LENGTH_MAX = 128 * 1024;

/** A restart must not bring every client back in the same moment, so each stream is told a time of its own. */
const RETRY_MS_MIN = 2000;
const RETRY_MS_MAX = 5000;

const LINE_END = /\r\n|\r|\n/g;
const REACHED = /^(0|[1-9]\d{0,14})(?:\.(0|[1-9]\d{0,14}))?$/;

/** What one event says of one thing; `json` was encoded by its actor. */
export interface EventRecord {
  /** Names the thing, for conflation; an action has none and is never conflated, never reordered; a gauge has none either. */
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

/** What becomes of a record. */
export type RecordChange = 'added' | 'updated' | 'removed';

/** The event that such a change of a collection makes, if it makes any. */
export function eventOf(collection: Collection, change: RecordChange): EventType | undefined {
  const { added, updated, removed }: CollectionSpec = COLLECTIONS[collection];
  if (change === 'removed') return removed;
  return change === 'added' ? (added ?? updated) : updated;
}

/**
 * Changes of one kind in one collection, texts by key, as its shape asks for; none where such changes are no events. `date` is now,
 * in milliseconds since the epoch.
 */
export function recordEvents(
  collection: Collection,
  change: RecordChange,
  texts: ReadonlyMap<string, string>,
  date: number,
): readonly StreamEvent[] {
  const { backend, shape }: CollectionSpec = COLLECTIONS[collection];
  const type = eventOf(collection, change);
  if (type === undefined) return [];
  const removal = change === 'removed';
  const bits = bitsOf(type, backend);
  const listed = shape === 'list';
  const groups: EventRecord[][] = [];
  let length = Number.POSITIVE_INFINITY;
  for (const [key, text] of texts) {
    const json = shape === 'player' ? playerWords(key, text, removal, date) : text;
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

/** Whoever removes a player knows it by its bus name alone: the words are the same however often it comes and goes. */
function playerWords(name: string, text: string, removal: boolean, date: number): string {
  return removal ? JSON.stringify({ bus_name: name }) : `{"data":${text},"emitted_at":${date}}`;
}

export function passingEvent(type: PassingEvent, json: string): StreamEvent {
  return { type, bits: bitsOf(type, PASSING[type]), listed: false, removal: false, records: [{ json }] };
}

/** The state of a backend, which has no actor to encode it. */
export function backendEvent(
  backend: ChildName,
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
export function snapshotMark(backend: ChildName, { state }: Pick<BackendHealth, 'state'>): StreamEvent {
  return backendEvent(backend, { state, detail: 'snapshot' }, `snapshot/${backend}`);
}

export const BYE = encode(frame('server.info', '"bye"'));

/** The first bytes of a stream. `chance` is 0 <= chance < 1; `unknown` are names that the client has asked for, as it wrote them. */
export function hello(chance: number, unknown: readonly string[] = []): Uint8Array {
  const remark = unknown.length === 0 ? '' : `: ignored, as unknown here: ${JSON.stringify(unknown)}\n`;
  const retryMs = RETRY_MS_MIN + Math.floor(chance * (RETRY_MS_MAX - RETRY_MS_MIN + 1));
  return encode(`${remark}retry: ${retryMs}\n${frame('server.info', '"connected"')}`);
}

/** Breaks a silence. Its id tells those who want little how far they have come without hearing anything. */
export function love(boot: string, newest: number): Uint8Array {
  return encode(frame('server.info', '"love"', newest === NO_SEQUENCE ? undefined : eventId(boot, newest)));
}

/**
 * One event as the stream spells it. `data` is JSON. A line end in it can only be white space between tokens (within a
 * JSON string it is an error), so each line becomes a `data` line of its own: whatever an actor relays, it cannot end
 * the event, add a field or start another event.
 */
export function frame(type: EventType, data: string, id?: string): string {
  // Hardly any has one, and looking for one costs a tenth of replacing none.
  const safe = data.includes('\n') || data.includes('\r') ? data.replace(LINE_END, '\ndata: ') : data;
  return `${id === undefined ? '' : `id: ${id}\n`}event: ${type}\ndata: ${safe}\n\n`;
}

/** The data of an event that says `records`: the JSON array of all, or the one that there is. */
export function dataOf(listed: boolean, records: readonly { readonly json: string }[]): string {
  return listed ? `[${records.map(({ json }) => json).join(',')}]` : (records[0]?.json ?? '');
}

/** UTF-8. Half a surrogate becomes U+FFFD: a browser would replace ill-formed bytes itself, stricter clients would fail. */
export function encode(text: string): Uint8Array {
  return Buffer.from(text, 'utf8');
}

/** Sequence numbers begin at 1: a client that has reached this one has no state that could be continued. */
export const NO_SEQUENCE = 0;

/**
 * Up to which events a client has been told everything, as sequence numbers. The two differ only while it has a part of a
 * snapshot: coming back it is given a snapshot again, but no action twice.
 */
export interface ReachedEvents {
  readonly states: number;
  readonly actions: number;
}

/** An event's id. It tells the daemon's lives apart, so that a sequence number of an earlier one is never believed. */
export function eventId(boot: string, states: number, actions = states): string {
  return states === actions ? `${boot}-${states}` : `${boot}-${states}.${actions}`;
}

/** What the client has reached that gives `id`; undefined when it is not one of this boot's. */
export function reachedIn(id: string, boot: string): ReachedEvents | undefined {
  if (!id.startsWith(`${boot}-`)) return undefined;
  const [, states, actions = states] = REACHED.exec(id.slice(boot.length + 1)) ?? [];
  return states === undefined ? undefined : { states: Number(states), actions: Number(actions) };
}
