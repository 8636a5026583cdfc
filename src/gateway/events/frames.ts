// Converts journal entries to events of the stream: their type, data and bytes (HTML standard, 9.2.5). Pure.

import { CHILD_NAMES, type ChildName } from '../../protocol/actor/backends.js';
import {
  COLLECTION_NAMES,
  type Collection,
  type EventType,
  SPECS,
} from '../../protocol/actor/collections.js';
import type { BackendRecord } from '../../protocol/actor/messages.js';
import type { JournalEntry } from '../journal.js';
import { bitsOf, type Filter } from './query.js';

/** Each stream gets a random `retry:` in this range, so that not all clients reconnect at once after a restart. */
const RETRY_MS_MIN = 2000;
const RETRY_MS_MAX = 5000;

const SEQUENCE = /^[1-9]\d{0,14}$/;

export interface EventKind {
  readonly type: EventType;
  readonly bits: Filter;
  /** True if the data is an array of all records; otherwise it is exactly one record. */
  readonly listed: boolean;
}

export interface StreamItem {
  readonly kind: EventKind;
  readonly json: string;
  /** After this item the client has everything up to this sequence number; undefined within a snapshot. */
  readonly upTo: number | undefined;
}

interface CollectionKinds {
  readonly added: EventKind | undefined;
  readonly updated: EventKind | undefined;
  readonly removed: EventKind | undefined;
}

/** A collection of one backend has one row, under ''; a collection with a record per child has a row for each child. */
const KINDS: ReadonlyMap<Collection, ReadonlyMap<string, CollectionKinds>> = new Map(
  COLLECTION_NAMES.map((collection) => {
    const { backend } = SPECS[collection];
    const rows: readonly (readonly [string, ChildName])[] =
      backend === undefined ? CHILD_NAMES.map((child) => [child, child]) : [['', backend]];
    return [collection, new Map(rows.map(([key, child]) => [key, kindsOf(collection, child)]))];
  }),
);

function kindsOf(collection: Collection, child: ChildName): CollectionKinds {
  const { added, updated, removed, shape } = SPECS[collection];
  const kind = (type: EventType | undefined): EventKind | undefined =>
    type && { type, bits: bitsOf(type, child), listed: shape === 'list' };
  return { added: kind(added ?? updated), updated: kind(updated), removed: kind(removed) };
}

/** Undefined if there is no such event. `isNew`: the reader does not know the record yet. */
export function kindOf({ kind, collection, key }: JournalEntry, isNew: boolean): EventKind | undefined {
  const kinds = KINDS.get(collection)?.get(SPECS[collection].backend === undefined ? key : '');
  if (kind === 'removal') return kinds?.removed;
  return isNew ? kinds?.added : kinds?.updated;
}

/** The bits of all events that a collection can cause. */
export function bitsOfCollection(collection: Collection): Filter {
  let bits = 0;
  for (const { added, updated, removed } of KINDS.get(collection)?.values() ?? [])
    for (const kind of [added, updated, removed]) bits |= kind?.bits ?? 0;
  return bits;
}

/** The event data for an entry. `date` is the current time in milliseconds since the epoch. */
export function eventDataOf({ kind, collection, key, json }: JournalEntry, date: number): string {
  const { shape } = SPECS[collection];
  switch (shape) {
    case 'player':
      return kind === 'removal' ? JSON.stringify({ bus_name: key }) : `{"data":${json},"emitted_at":${date}}`;
    case 'tracklist':
      return `{"bus_name":${JSON.stringify(key)},${json.slice(1)}`;
    case 'node':
      return kind === 'removal' ? JSON.stringify({ name: key }) : json;
    case 'backend': {
      const { backend, state, detail } = JSON.parse(json) as BackendRecord;
      return backendWords(backend, state, detail);
    }
    default:
      return json;
  }
}

export function backendWords(backend: ChildName, state: BackendRecord['state'], detail?: string): string {
  return JSON.stringify({ backend, state, detail });
}

export const BYE = Buffer.from(frame('server.info', '"bye"'));

/** The first bytes of a stream. `chance` is 0 <= chance < 1; `unknown` are requested names that do not exist, as the client wrote them. */
export function hello(chance: number, unknown: readonly string[] = []): Uint8Array {
  const remark = unknown.length === 0 ? '' : `: ignored, as unknown here: ${JSON.stringify(unknown)}\n`;
  const retryMs = RETRY_MS_MIN + Math.floor(chance * (RETRY_MS_MAX - RETRY_MS_MIN + 1));
  return Buffer.from(`${remark}retry: ${retryMs}\n${frame('server.info', '"connected"')}`);
}

/** Sent after silence. Its id also advances clients with a narrow filter while only other events happen. */
export function love(boot: string, newest: number): Uint8Array {
  return Buffer.from(frame('server.info', '"love"', `${boot}-${newest}`));
}

/**
 * The items of each event: neighbours of a listed kind share one, as long as their texts have less than `maxLength` UTF-16 units together;
 * so no event is much larger than this plus one record.
 */
export function* groupItems(
  items: Iterable<StreamItem>,
  maxLength: number,
): Generator<StreamItem[], undefined> {
  let group: StreamItem[] = [];
  let length = 0;
  for (const item of items) {
    const [first] = group;
    const fits = first?.kind.listed && first.kind === item.kind && length < maxLength;
    if (first !== undefined && !fits) {
      yield group;
      group = [];
      length = 0;
    }
    group.push(item);
    length += item.json.length;
  }
  if (group.length > 0) yield group;
  return undefined;
}

/** The text of one event: its items are of one kind. */
export function frameItems(boot: string, items: readonly StreamItem[]): string {
  const last = items.at(-1);
  if (last === undefined) return '';
  const { type, listed } = last.kind;
  const others =
    items.length > 1
      ? `${items
          .slice(0, -1)
          .map(({ json }) => json)
          .join(',')},`
      : '';
  const data = listed ? `[${others}${last.json}]` : last.json;
  return frame(type, data, last.upTo === undefined ? undefined : `${boot}-${last.upTo}`);
}

/** One event as text; an id is the run of the daemon, a hyphen, and a sequence number. `data` is one line of JSON, as actors publish it. */
export function frame(type: EventType, data: string, id?: string): string {
  return `${id === undefined ? '' : `id: ${id}\n`}event: ${type}\ndata: ${data}\n\n`;
}

/** The sequence number in an id of this run of the daemon; undefined for any other text. */
export function sequenceIn(id: string, boot: string): number | undefined {
  const sequence = id.startsWith(`${boot}-`) ? id.slice(boot.length + 1) : '';
  return SEQUENCE.test(sequence) ? Number(sequence) : undefined;
}
