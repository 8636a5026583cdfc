// The journal holds the newest text of every record, the last removals and the last actions, by sequence number.
// Pure: it parses no text, reads no clock and sends nothing.
//
// A reader that has everything up to a number reads on from there: the newest text of each record, every removal, every action.

import {
  COLLECTION_NAMES,
  type Collection,
  type CollectionSpec,
  SPECS,
} from '../protocol/actor/collections.js';
import type { Change } from '../protocol/actor/messages.js';

/** docs/events.md, "Coming back": for removals and for actions. */
const KEPT_MAX = 1024;
/** For each of the two. A record may have 130 kB, and 1024 of these would fill a small node's memory. */
const KEPT_BYTES_MAX = 2 * 1024 * 1024;
/** Approximate memory of an entry besides its text. */
const ENTRY_OVERHEAD_BYTES = 96;

export type EntryKind = 'record' | 'removal' | 'action';

/** Immutable: a change of its record creates another entry. */
export interface JournalEntry {
  readonly sequence: number;
  readonly kind: EntryKind;
  readonly collection: Collection;
  readonly key: string;
  /** JSON; for a removal, the record's last text. */
  readonly json: string;
  /** The record's first sequence number; clients that have read less do not know the record. */
  readonly since: number;
  readonly rank: number;
}

/** Removals or actions, oldest first, within a bound. */
class BoundedEntries {
  readonly #entries = new Map<string, JournalEntry>();
  #bytes = 0;

  add(id: string, entry: JournalEntry): void {
    this.#entries.set(id, entry);
    this.#bytes += sizeOf(entry);
  }

  remove(id: string): JournalEntry | undefined {
    const entry = this.#entries.get(id);
    if (entry === undefined) return undefined;
    this.#entries.delete(id);
    this.#bytes -= sizeOf(entry);
    return entry;
  }

  /** Removes the oldest entry if the bound is exceeded. */
  takeExcess(): JournalEntry | undefined {
    if (this.#entries.size <= KEPT_MAX && this.#bytes <= KEPT_BYTES_MAX) return undefined;
    const [oldest] = this.#entries.keys();
    return oldest === undefined ? undefined : this.remove(oldest);
  }
}

export class Journal {
  /** By sequence number. */
  readonly #entries = new Set<JournalEntry>();
  readonly #live = new Map(COLLECTION_NAMES.map((name) => [name, new Map<string, JournalEntry>()] as const));
  readonly #kept = { removal: new BoundedEntries(), action: new BoundedEntries() };
  /** The highest sequence number that was dropped, by collection. */
  readonly #forgotten = new Map<Collection, number>();
  #newest = 0;

  get newest(): number {
    return this.#newest;
  }

  /** Applies changes and returns the resulting entries in order, for each record only the newest. An equal text is no change. */
  apply(changes: readonly Change[]): readonly JournalEntry[] {
    const entries: JournalEntry[] = [];
    for (const change of changes) {
      const entry = change.kind === 'put' ? this.#put(change) : this.#drop(change.collection, change.key);
      if (entry !== undefined) entries.push(entry);
    }
    // An action counts even if it was dropped at once.
    return entries.filter((entry) => entry.kind !== 'record' || this.#entries.has(entry));
  }

  /** Changes that remove a backend's records when it goes away, except in collections whose records are never removed. */
  leaving(backend: string): readonly Change[] {
    return COLLECTION_NAMES.filter(
      (name) => SPECS[name].backend === backend && goesWithBackend(SPECS[name]),
    ).flatMap((collection) =>
      [...this.#records(collection).keys()].map((key) => ({ kind: 'drop' as const, collection, key })),
    );
  }

  record(collection: Collection, key: string): JournalEntry | undefined {
    return this.#records(collection).get(key);
  }

  /** The current records of a collection, in order of arrival. */
  records(collection: Collection): Iterable<JournalEntry> {
    return this.#records(collection).values();
  }

  /** The entries after a sequence number. Entries that are added during the iteration are included. */
  *after(sequence: number): Iterable<JournalEntry> {
    if (sequence === this.#newest) return;
    for (const entry of this.#entries) if (entry.sequence > sequence) yield entry;
  }

  /** True if nothing after a sequence number was dropped from the wanted collections. */
  reaches(sequence: number, isWanted: (collection: Collection) => boolean): boolean {
    for (const [collection, forgotten] of this.#forgotten) {
      if (forgotten > sequence && isWanted(collection)) return false;
    }
    return true;
  }

  #put({ collection, key, json, rank }: Extract<Change, { readonly kind: 'put' }>): JournalEntry | undefined {
    const { keeps } = SPECS[collection];
    if (keeps === 'each') return this.#keep('action', collection, key, json);
    const records = this.#records(collection);
    const before = records.get(key);
    if (before?.json === json && keeps !== 'passing') return undefined;
    if (before !== undefined) this.#entries.delete(before);
    else this.#comesBack(collection, key, json);
    const sequence = this.#next();
    const entry: JournalEntry = {
      ...{ sequence, kind: 'record', collection, key, json, since: before?.since ?? sequence },
      rank: rank ?? before?.rank ?? Number.POSITIVE_INFINITY,
    };
    records.set(key, entry);
    this.#entries.add(entry);
    return entry;
  }

  #drop(collection: Collection, key: string): JournalEntry | undefined {
    const records = this.#records(collection);
    const before = records.get(key);
    if (before === undefined) return undefined;
    records.delete(key);
    this.#entries.delete(before);
    if (SPECS[collection].removed === undefined) return undefined;
    return this.#keep('removal', collection, key, before.json);
  }

  #keep(kind: 'removal' | 'action', collection: Collection, key: string, json: string): JournalEntry {
    const sequence = this.#next();
    const entry: JournalEntry = { sequence, kind, collection, key, json, since: sequence, rank: 0 };
    const kept = this.#kept[kind];
    const id = kind === 'action' ? String(sequence) : removalId(entry);
    const before = kept.remove(id);
    if (before !== undefined) this.#entries.delete(before);
    kept.add(id, entry);
    this.#entries.add(entry);
    for (let oldest = kept.takeExcess(); oldest !== undefined; oldest = kept.takeExcess()) {
      this.#entries.delete(oldest);
      this.#forgotten.set(oldest.collection, oldest.sequence);
    }
    return entry;
  }

  /** Deletes the removal of a record that is back unchanged. Another text under the same key may be another record, with another name. */
  #comesBack(collection: Collection, key: string, json: string): void {
    if (SPECS[collection].shape === 'player') return;
    const removal = this.#kept.removal.remove(removalId({ collection, key, json }));
    if (removal !== undefined) this.#entries.delete(removal);
  }

  #next(): number {
    this.#newest += 1;
    return this.#newest;
  }

  #records(collection: Collection): Map<string, JournalEntry> {
    const records = this.#live.get(collection);
    if (records === undefined) throw new Error(`There is no collection ${collection}`);
    return records;
  }
}

function goesWithBackend({ removed, keeps, isPart }: CollectionSpec): boolean {
  return removed !== undefined || keeps === 'passing' || isPart === true;
}

/**
 * The text is part of a removal's id, because a sound server that restarts reuses its ids: the next record under a key is another
 * one with another name, and clients know records by their names (docs/http-api.md, "Names of clients").
 */
function removalId({ collection, key, json }: Pick<JournalEntry, 'collection' | 'key' | 'json'>): string {
  const words = SPECS[collection].shape === 'player' ? '' : json;
  return `${collection}/${key}/${words}`;
}

/** A removal's text is counted twice, as its id contains it too. */
function sizeOf({ kind, json }: JournalEntry): number {
  return Buffer.byteLength(json) * (kind === 'removal' ? 2 : 1) + ENTRY_OVERHEAD_BYTES;
}
