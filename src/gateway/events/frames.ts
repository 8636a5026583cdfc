// Decides which event a journal entry becomes: its kind, its data and its text (HTML standard, 9.2.5). Pure.

import { CHILD_NAMES, type ChildName } from '../../protocol/actor/backends.js';
import {
  COLLECTION_SPECS,
  type Collection,
  type CollectionSpec,
  EVENTS,
  type EventType,
  LEVEL_BACKEND,
  LEVEL_EVENT,
} from '../../protocol/actor/collections.js';
import type { BackendRecord } from '../../protocol/actor/messages.js';
import type { JournalEntry } from '../journal.js';
import { DATA_MAX_BYTES, shortenedData, tracklistData } from './line-length.js';

/**
 * `retry:` is random in this range. Otherwise all clients would reconnect at the same moment after a restart
 * of the daemon.
 */
const RETRY_MIN_MS = 2000;
const RETRY_MAX_MS = 5000;

/**
 * Each type of event has one kind, but `backend.updated` has one for each child, and `server.info` has none.
 */
export interface EventKind {
  readonly type: EventType;
  readonly child: ChildName;
  /** True if the data is an array, which may have several records. */
  readonly isList: boolean;
}

/** The kinds that a client has selected. Each kind is one object, so a look-up compares no texts. */
export type Filter = ReadonlySet<EventKind>;

/** Levels do not come from the journal, so no collection has their kind. */
export const LEVEL_KIND: EventKind = { type: LEVEL_EVENT, child: LEVEL_BACKEND, isList: false };

const EVENT_TYPES = Object.keys(EVENTS) as readonly EventType[];
const ALL_SPECS: readonly CollectionSpec[] = Object.values(COLLECTION_SPECS);
const EVENT_KINDS: readonly EventKind[] = EVENT_TYPES.flatMap(kindsOf);
/** The kinds by type, and then by child. */
const KINDS_BY_TYPE = new Map(
  EVENT_TYPES.map((type) => {
    const kinds = EVENT_KINDS.filter((kind) => kind.type === type);
    return [type, new Map(kinds.map((kind) => [kind.child, kind]))];
  }),
);

/** `server.info` has no kind, because no filter applies to it. */
function kindsOf(type: EventType): readonly EventKind[] {
  if (type === LEVEL_EVENT) return [LEVEL_KIND];
  // Collections that make events of one type have the same backend and shape, so the first one is enough.
  const spec = ALL_SPECS.find(({ added, updated, removed }) => [added, updated, removed].includes(type));
  if (spec === undefined) return [];
  const owners = spec.backend === undefined ? CHILD_NAMES : [spec.backend];
  return owners.map((child) => ({ type, child, isList: spec.shape === 'list' }));
}

export function kindOf(type: EventType, child: ChildName): EventKind | undefined {
  return KINDS_BY_TYPE.get(type)?.get(child);
}

export function filterOf(isSelected: (type: EventType, backend: ChildName) => boolean): Filter {
  return new Set(EVENT_KINDS.filter(({ type, child }) => isSelected(type, child)));
}

/** True if the filter accepts any event of the collection. */
export function acceptsCollection(filter: Filter, collection: Collection): boolean {
  const { added, updated, removed } = COLLECTION_SPECS[collection];
  return [...filter].some(({ type }) => [added, updated, removed].includes(type));
}

/**
 * Undefined if the entry makes no event. The client knows every record whose first sequence number is at most
 * `knownUpTo`. If `knownUpTo` is undefined, the client knows no record.
 */
export function kindOfEntry(entry: JournalEntry, knownUpTo: number | undefined): EventKind | undefined {
  const { kind, collection, key, firstSequence } = entry;
  const isNew = knownUpTo === undefined || firstSequence > knownUpTo;
  // Only one collection with events has no backend: `backends`. Its keys are the children.
  const { backend = key as ChildName, added, updated, removed } = COLLECTION_SPECS[collection];
  const changeType = isNew ? (added ?? updated) : updated;
  const type = kind === 'removal' ? removed : changeType;
  return type === undefined ? undefined : kindOf(type, backend);
}

/** Data above `DATA_MAX_BYTES` is shortened. `date` is the current time in milliseconds since the epoch. */
export function eventDataOf(entry: JournalEntry, date: number): string {
  const data = wholeDataOf(entry, date);
  return Buffer.byteLength(data) <= DATA_MAX_BYTES ? data : shortenedData(entry.collection, data);
}

/**
 * A removal's `json` is the record's last text. It is also the data of the removal's event, except for
 * players and nodes.
 */
function wholeDataOf({ kind, collection, key, json }: JournalEntry, date: number): string {
  const { shape } = COLLECTION_SPECS[collection];
  switch (shape) {
    case 'player':
      return kind === 'removal' ? JSON.stringify({ bus_name: key }) : `{"data":${json},"emitted_at":${date}}`;
    case 'tracklist':
      return tracklistData(key, json);
    case 'node':
      return kind === 'removal' ? JSON.stringify({ name: key }) : json;
    case 'backend': {
      const { backend, state, detail } = JSON.parse(json) as BackendRecord;
      return backendData(backend, state, detail);
    }
    default:
      return json;
  }
}

export function backendData(backend: ChildName, state: BackendRecord['state'], detail?: string): string {
  return JSON.stringify({ backend, state, detail });
}

export const BYE_EVENT = frame('server.info', '"bye"');

/**
 * The first lines of a stream. `chance` is a random number, 0 <= chance < 1. `unknownNames` are the names in
 * the query that the daemon does not know.
 */
export function firstLines(chance: number, unknownNames: readonly string[] = []): string {
  const commentLine =
    unknownNames.length === 0 ? '' : `: ignored, as unknown here: ${JSON.stringify(unknownNames)}\n`;
  const retryMs = RETRY_MIN_MS + Math.floor(chance * (RETRY_MAX_MS - RETRY_MIN_MS + 1));
  return `${commentLine}retry: ${retryMs}\n${frame('server.info', '"connected"')}`;
}

/**
 * The keep-alive, which is sent after a silence. It has the id of the newest change. The client's filter may
 * have kept this change back, but with the id the client can resume after this change.
 */
export function loveEvent(bootId: string, newestSequence: number): string {
  return frame('server.info', '"love"', `${bootId}-${newestSequence}`);
}

/** One event as text. `data` is one line of JSON. */
export function frame(type: EventType, data: string, id?: string): string {
  const idLine = id === undefined ? '' : `id: ${id}\n`;
  return `${idLine}event: ${type}\ndata: ${data}\n\n`;
}

/**
 * Returns the sequence number in an event id. An id is the daemon's `bootId`, a hyphen, and the number. The
 * result is undefined for any other text. At most 15 digits are accepted, because a larger number may be
 * inexact.
 */
export function sequenceIn(id: string, bootId: string): number | undefined {
  const sequence = id.startsWith(`${bootId}-`) ? id.slice(bootId.length + 1) : '';
  return /^[1-9]\d{0,14}$/.test(sequence) ? Number(sequence) : undefined;
}
