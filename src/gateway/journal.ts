// The journal holds the newest text of every record, the last removals and the last actions, by sequence
// number. Pure: it parses no text, reads no clock and sends nothing.
//
// A reader that has everything up to a number reads on from there: the newest text of each record, every
// removal, every action.

import type { ChildName } from '../protocol/actor/backends.js';
import {
  COLLECTION_NAMES,
  type Collection,
  type CollectionSpec,
  SPECS,
} from '../protocol/actor/collections.js';
import type { Change, Drop, Put } from '../protocol/actor/messages.js';

/** docs/events.md, "Coming back": for removals and for actions. */
const KEPT_MAX = 1024;
/** For each of the two. A record may have 130 kB, and 1024 of these would fill a small node's memory. */
const KEPT_BYTES_MAX = 2 * 1024 * 1024;

/** Immutable: a change of its record creates another entry. */
export interface JournalEntry {
  readonly sequence: number;
  readonly kind: 'record' | 'removal' | 'action';
  readonly collection: Collection;
  readonly key: string;
  /** JSON; for a removal, the record's last text. */
  readonly json: string;
  /** The record's first sequence number; clients that have read less do not know the record. */
  readonly since: number;
  readonly rank: number;
  /** When it happened, in milliseconds since the epoch. */
  readonly at: number;
}

type Kept = Pick<JournalEntry, 'collection' | 'key' | 'json' | 'at'>;

/** A collection's last change. */
export interface Changed {
  /** Its number among all changes, also those that make no entry; 0 if there was none. */
  readonly order: number;
  readonly at: number;
}

interface Shelf extends Changed {
  readonly spec: (typeof SPECS)[Collection];
  readonly records: Map<string, JournalEntry>;
  order: number;
  at: number;
}

/** Removals or actions, oldest first, within a bound. */
class BoundedEntries {
  readonly entries = new Set<JournalEntry>();
  #bytes = 0;

  add(entry: JournalEntry): void {
    this.entries.add(entry);
    this.#bytes += Buffer.byteLength(entry.json);
  }

  delete(entry: JournalEntry): void {
    this.entries.delete(entry);
    this.#bytes -= Buffer.byteLength(entry.json);
  }

  /** The oldest entry while the bound is exceeded. */
  get excess(): JournalEntry | undefined {
    if (this.entries.size <= KEPT_MAX && this.#bytes <= KEPT_BYTES_MAX) return undefined;
    return this.entries.values().next().value;
  }
}

/** True if clients keep a record of the collection until a snapshot lacks it. */
function needsSnapshot({ updated, removed, keeps, isPart }: CollectionSpec): boolean {
  return updated !== undefined && removed === undefined && keeps === undefined && isPart === undefined;
}

export class Journal {
  /** All entries by sequence number, in its order. */
  readonly #entries = new Map<number, JournalEntry>();
  readonly #shelves: Readonly<Record<Collection, Shelf>>;
  readonly #kept = { removal: new BoundedEntries(), action: new BoundedEntries() };
  /** The highest sequence number that was dropped, by collection. */
  readonly #forgotten = new Map<Collection, number>();
  #order = 0;
  #newest = 0;

  constructor() {
    const shelf = (name: Collection): Shelf => ({ spec: SPECS[name], records: new Map(), order: 0, at: 0 });
    // The names are those of the table, which the type of `fromEntries` does not tell.
    this.#shelves = Object.fromEntries(COLLECTION_NAMES.map((name) => [name, shelf(name)])) as Record<
      Collection,
      Shelf
    >;
  }

  get newest(): number {
    return this.#newest;
  }

  /** The number of changes so far. */
  get order(): number {
    return this.#order;
  }

  /**
   * Applies changes of the time `at` and returns the resulting entries in order, for each record only the
   * newest. An equal text is no change.
   */
  apply(changes: readonly Change[], at: number): readonly JournalEntry[] {
    const entries: JournalEntry[] = [];
    for (const change of changes) {
      const entry = change.kind === 'put' ? this.#put(change, at) : this.#drop(change, at);
      if (entry !== undefined) entries.push(entry);
    }
    if (entries.length <= 1) return entries;
    // An action counts even if it was dropped at once.
    return entries.filter((entry) => entry.kind !== 'record' || this.#entries.has(entry.sequence));
  }

  /**
   * Changes that remove a backend's records when it goes away, except in collections whose records are never
   * removed.
   */
  leaving(backend: string): readonly Change[] {
    return COLLECTION_NAMES.filter((name) => {
      const { backend: owner, removed, keeps, isPart } = SPECS[name];
      return owner === backend && (removed !== undefined || keeps === 'passing' || isPart === true);
    }).flatMap((collection) =>
      [...this.#shelves[collection].records.keys()].map((key): Change => ({ kind: 'drop', collection, key })),
    );
  }

  /** Changes that remove all records of a backend, whose settings have changed. */
  forgetting(backend: ChildName): readonly Change[] {
    const own = COLLECTION_NAMES.filter((name) => SPECS[name].backend === backend);
    return own.flatMap((collection) =>
      [...this.#shelves[collection].records.keys()].map((key): Change => ({ kind: 'drop', collection, key })),
    );
  }

  record(collection: Collection, key: string): JournalEntry | undefined {
    return this.#shelves[collection].records.get(key);
  }

  /** The current records of a collection, in order of arrival. */
  records(collection: Collection): Iterable<JournalEntry> {
    return this.#shelves[collection].records.values();
  }

  changed(collection: Collection): Changed {
    return this.#shelves[collection];
  }

  /** The entries after a sequence number. Entries that are added during the iteration are included. */
  *after(sequence: number): Iterable<JournalEntry> {
    if (sequence === this.#newest) return;
    for (const entry of this.#entries.values()) if (entry.sequence > sequence) yield entry;
  }

  /** True if nothing after a sequence number was dropped from the requested collections. */
  reaches(sequence: number, isRelevant: (collection: Collection) => boolean): boolean {
    for (const [collection, forgotten] of this.#forgotten)
      if (forgotten > sequence && isRelevant(collection)) return false;
    return true;
  }

  #put({ collection, key, json, rank }: Put, at: number): JournalEntry | undefined {
    const shelf = this.#shelves[collection];
    const { keeps } = shelf.spec;
    if (keeps === 'each') return this.#keep('action', { collection, key, json, at });
    const before = shelf.records.get(key);
    if (before?.json === json && keeps !== 'passing') return undefined;
    if (before !== undefined) this.#entries.delete(before.sequence);
    // The removal of a record that is back unchanged is deleted. Another text under the same key may be
    // another record, with another name.
    else if (shelf.spec.shape !== 'player') this.#forgetRemoval({ collection, key, json });
    this.#newest += 1;
    const entry: JournalEntry = {
      sequence: this.#newest,
      kind: 'record',
      collection,
      key,
      json,
      since: before?.since ?? this.#newest,
      rank: rank ?? before?.rank ?? Number.POSITIVE_INFINITY,
      at,
    };
    shelf.records.set(key, entry);
    this.#entries.set(entry.sequence, entry);
    this.#order += 1;
    shelf.order = this.#order;
    shelf.at = at;
    return entry;
  }

  #drop({ collection, key }: Drop, at: number): JournalEntry | undefined {
    const shelf = this.#shelves[collection];
    const before = shelf.records.get(key);
    if (before === undefined) return undefined;
    shelf.records.delete(key);
    this.#entries.delete(before.sequence);
    this.#order += 1;
    shelf.order = this.#order;
    shelf.at = at;
    const removal = { collection, key, json: before.json, at };
    if (shelf.spec.removed !== undefined) return this.#keep('removal', removal);
    return needsSnapshot(shelf.spec) ? this.#forget(removal) : undefined;
  }

  /**
   * No event tells of this removal: a reader that has less than its number gets a snapshot, which lacks the
   * record.
   */
  #forget(removal: Kept): JournalEntry {
    this.#newest += 1;
    this.#forgotten.set(removal.collection, this.#newest);
    return { ...removal, kind: 'removal', sequence: this.#newest, since: this.#newest, rank: 0 };
  }

  #keep(kind: 'removal' | 'action', what: Kept): JournalEntry {
    this.#newest += 1;
    const entry: JournalEntry = { ...what, sequence: this.#newest, kind, since: this.#newest, rank: 0 };
    const kept = this.#kept[kind];
    if (kind === 'removal') this.#forgetRemoval(what);
    kept.add(entry);
    this.#entries.set(entry.sequence, entry);
    for (let oldest = kept.excess; oldest !== undefined; oldest = kept.excess) {
      kept.delete(oldest);
      this.#entries.delete(oldest.sequence);
      this.#forgotten.set(oldest.collection, oldest.sequence);
    }
    return entry;
  }

  /**
   * Deletes the earlier removal of the same record. Its text is compared too, because a sound server that
   * restarts reuses its ids: the next record under a key is another one with another name, and clients know
   * records by their names (docs/http-api.md, "Names of clients").
   */
  #forgetRemoval({ collection, key, json }: Omit<Kept, 'at'>): void {
    const isPlayer = SPECS[collection].shape === 'player';
    for (const entry of this.#kept.removal.entries) {
      if (entry.key !== key || entry.collection !== collection) continue;
      if (!isPlayer && entry.json !== json) continue;
      this.#kept.removal.delete(entry);
      this.#entries.delete(entry.sequence);
      return;
    }
  }
}
