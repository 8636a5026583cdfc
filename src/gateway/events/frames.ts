// How the stream spells what is in the journal: which event an entry is, and its bytes (HTML standard, 9.2.5). Pure.

import { CHILD_NAMES, type ChildName } from '../../protocol/actor/backends.js';
import {
  COLLECTION_NAMES,
  type Collection,
  type EventShape,
  type EventType,
  SPECS,
} from '../../protocol/actor/collections.js';
import type { BackendRecord } from '../../protocol/actor/messages.js';
import type { JournalEntry } from '../journal.js';
import { bitsOf, type Filter } from './query.js';

/** A restart must not bring every client back in the same moment, so each stream gets a time of its own. */
const RETRY_MS_MIN = 2000;
const RETRY_MS_MAX = 5000;

const LINE_END = /\r\n|\r|\n/g;
const SEQUENCE = /^[1-9]\d{0,14}$/;

/** Which event something is. */
export interface EventKind {
  readonly type: EventType;
  /** The filters that let it in. */
  readonly bits: Filter;
  /** Its data is the array of all records; else there is exactly one. */
  readonly listed: boolean;
}

/** One record of an event that is to be framed. */
export interface StreamItem {
  readonly kind: EventKind;
  readonly json: string;
  /** A client that has read this far has read everything up to this sequence number; undefined within a snapshot. */
  readonly upTo: number | undefined;
}

interface CollectionKinds {
  readonly added: EventKind | undefined;
  readonly updated: EventKind | undefined;
  readonly removed: EventKind | undefined;
}

/** A collection of one backend has one row, under ''; one that each child has a record in has a row for each. */
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

/** Undefined: it is no event. `isNew`: who reads it does not know the record yet. */
export function kindOf({ kind, collection, key }: JournalEntry, isNew: boolean): EventKind | undefined {
  const kinds = KINDS.get(collection)?.get(SPECS[collection].backend === undefined ? key : '');
  if (kind === 'removal') return kinds?.removed;
  return isNew ? kinds?.added : kinds?.updated;
}

/** All events that a collection may make. */
export function bitsOfCollection(collection: Collection): Filter {
  let bits = 0;
  for (const { added, updated, removed } of KINDS.get(collection)?.values() ?? [])
    for (const kind of [added, updated, removed]) bits |= kind?.bits ?? 0;
  return bits;
}

/** An entry as the data of its event has it. `date` is now, in milliseconds since the epoch. */
export function wordsOf({ kind, collection, key, json }: JournalEntry, date: number): string {
  const { shape = 'each' } = SPECS[collection];
  if (kind === 'removal' && shape === 'player') return JSON.stringify({ bus_name: key });
  return WORDS[shape](json, date);
}

const WORDS: Readonly<Record<EventShape, (json: string, date: number) => string>> = {
  list: (json) => json,
  each: (json) => json,
  player: (json, date) => `{"data":${json},"emitted_at":${date}}`,
  backend: (json) => {
    const { backend, state, detail } = JSON.parse(json) as BackendRecord;
    return backendWords(backend, state, detail);
  },
};

export function backendWords(backend: ChildName, state: BackendRecord['state'], detail?: string): string {
  return JSON.stringify({ backend, state, detail });
}

export const BYE = encode(frame('server.info', '"bye"'));

/** The first bytes of a stream. `chance` is 0 <= chance < 1; `unknown` are names that the client has asked for, as it wrote them. */
export function hello(chance: number, unknown: readonly string[] = []): Uint8Array {
  const remark = unknown.length === 0 ? '' : `: ignored, as unknown here: ${JSON.stringify(unknown)}\n`;
  const retryMs = RETRY_MS_MIN + Math.floor(chance * (RETRY_MS_MAX - RETRY_MS_MIN + 1));
  return encode(`${remark}retry: ${retryMs}\n${frame('server.info', '"connected"')}`);
}

/** Breaks a silence. Its id advances those who want little, although only others' events happen. */
export function love(boot: string, newest: number): Uint8Array {
  return encode(frame('server.info', '"love"', eventId(boot, newest)));
}

/** One event of neighbouring items of one kind. */
export function framed(boot: string, items: readonly StreamItem[]): string {
  const last = items.at(-1);
  if (last === undefined) return '';
  const { type, listed } = last.kind;
  const data = listed ? `[${items.map(({ json }) => json).join(',')}]` : last.json;
  return frame(type, data, last.upTo === undefined ? undefined : eventId(boot, last.upTo));
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

/** UTF-8. Half a surrogate becomes U+FFFD: a browser would replace ill-formed bytes itself, stricter clients would fail. */
export function encode(text: string): Uint8Array {
  return Buffer.from(text, 'utf8');
}

/** An event's id. It tells the daemon's lives apart, so that a sequence number of an earlier one is never believed. */
export function eventId(boot: string, sequence: number): string {
  return `${boot}-${sequence}`;
}

/** The sequence number in an id of this life of the daemon; undefined for any other text. */
export function sequenceIn(id: string, boot: string): number | undefined {
  const sequence = id.startsWith(`${boot}-`) ? id.slice(boot.length + 1) : '';
  return SEQUENCE.test(sequence) ? Number(sequence) : undefined;
}
