// The journal holds the newest text of every record, the last removals and the last actions, by sequence
// number. Pure: it parses no text, reads no clock and sends nothing.
//
// A reader that has everything up to a number continues after this number: it gets the newest text of each
// record, and every removal and action that is still kept.

import type { ChildName } from '../protocol/actor/backends.js';
import {
  COLLECTION_NAMES,
  COLLECTION_SPECS,
  type Collection,
  type CollectionSpec,
} from '../protocol/actor/collections.js';
import type { Change, Drop, Put } from '../protocol/actor/messages.js';

/** At most this many removals are kept, and as many actions (docs/events.md, "Coming back"). */
const KEPT_MAX = 1024;
/**
 * The limit for all removals together, and for all actions together. Without it, 1024 records of 130 kB each
 * would fill a small node's memory.
 */
const KEPT_BYTES_MAX = 2 * 1024 * 1024;

/** Immutable: a change of its record creates another entry. */
export interface JournalEntry {
  readonly sequence: number;
  readonly kind: 'record' | 'removal' | 'action';
  readonly collection: Collection;
  readonly key: string;
  /** JSON; for a removal, the record's last text. */
  readonly json: string;
  /** The record's first sequence number: a client that has not read up to it does not know the record. */
  readonly since: number;
  readonly rank: number;
  /** When it happened, in milliseconds since the epoch. */
  readonly at: number;
}

type Content = Pick<JournalEntry, 'collection' | 'key' | 'json' | 'at'>;

/** A collection's last change. */
export interface LastChange {
  /** Its number among all changes of records, also those that make no entry; 0 if there was no change. */
  readonly order: number;
  readonly at: number;
}

/** The current records of a collection, by key. */
interface CollectionState extends LastChange {
  readonly spec: CollectionSpec;
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

  /** The oldest entry; undefined if the bound is not exceeded. */
  get excess(): JournalEntry | undefined {
    if (this.entries.size <= KEPT_MAX && this.#bytes <= KEPT_BYTES_MAX) return undefined;
    return this.entries.values().next().value;
  }
}

/** True if a removal has no event, so that clients learn of it only from a snapshot without the record. */
function needsSnapshot({ updated, removed, keeps, isPart }: CollectionSpec): boolean {
  return updated !== undefined && removed === undefined && keeps === undefined && isPart === undefined;
}

export class Journal {
  /** All entries by sequence number, the lowest first. */
  readonly #entries = new Map<number, JournalEntry>();
  readonly #collections: Readonly<Record<Collection, CollectionState>>;
  readonly #kept = { removal: new BoundedEntries(), action: new BoundedEntries() };
  /** By collection, the highest sequence number of an entry that readers cannot get any more. */
  readonly #forgotten = new Map<Collection, number>();
  #order = 0;
  #newest = 0;

  constructor() {
    const empty = (name: Collection): CollectionState => ({
      spec: COLLECTION_SPECS[name],
      records: new Map(),
      order: 0,
      at: 0,
    });
    const entries = COLLECTION_NAMES.map((name) => [name, empty(name)] as const);
    // `fromEntries` has a type that allows any text as a name.
    this.#collections = Object.fromEntries(entries) as Record<Collection, CollectionState>;
  }

  get newest(): number {
    return this.#newest;
  }

  /** The number of changes of records so far. */
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
    // An earlier entry of a record is left out if a newer one has replaced it. Removals and actions stay,
    // even if the bound has dropped them already.
    return entries.filter((entry) => entry.kind !== 'record' || this.#entries.has(entry.sequence));
  }

  /**
   * The drops for a backend that is no longer up: of records whose removal has an event, of parts of these,
   * and of passing records. All other records, such as units, keep their last text.
   */
  dropsOfAway(backend: ChildName): readonly Drop[] {
    return this.#dropsOf(
      backend,
      ({ removed, keeps, isPart }) => removed !== undefined || keeps === 'passing' || isPart === true,
    );
  }

  /** The drops of all records of a backend. */
  dropsOfAll(backend: ChildName): readonly Drop[] {
    return this.#dropsOf(backend, () => true);
  }

  #dropsOf(backend: ChildName, isDropped: (spec: CollectionSpec) => boolean): readonly Drop[] {
    const dropped = COLLECTION_NAMES.filter(
      (name) => COLLECTION_SPECS[name].backend === backend && isDropped(COLLECTION_SPECS[name]),
    );
    return dropped.flatMap((collection) =>
      [...this.#collections[collection].records.keys()].map(
        (key): Drop => ({ kind: 'drop', collection, key }),
      ),
    );
  }

  record(collection: Collection, key: string): JournalEntry | undefined {
    return this.#collections[collection].records.get(key);
  }

  /** The current records of a collection, in the order in which they were first put. */
  records(collection: Collection): Iterable<JournalEntry> {
    return this.#collections[collection].records.values();
  }

  lastChange(collection: Collection): LastChange {
    return this.#collections[collection];
  }

  /** The entries after a sequence number. Entries that are added during the iteration are included. */
  *after(sequence: number): Iterable<JournalEntry> {
    if (sequence === this.#newest) return;
    for (const entry of this.#entries.values()) if (entry.sequence > sequence) yield entry;
  }

  /** True if the journal still has everything after a sequence number in the relevant collections. */
  isCompleteAfter(sequence: number, isRelevant: (collection: Collection) => boolean): boolean {
    for (const [collection, forgotten] of this.#forgotten)
      if (forgotten > sequence && isRelevant(collection)) return false;
    return true;
  }

  #put({ collection, key, json, rank }: Put, at: number): JournalEntry | undefined {
    const state = this.#collections[collection];
    const { keeps, shape } = state.spec;
    if (keeps === 'actions') return this.#keep('action', { collection, key, json, at });
    const before = state.records.get(key);
    if (before?.json === json && keeps !== 'passing') return undefined;
    if (before !== undefined) this.#entries.delete(before.sequence);
    // Readers need not learn that a record was away if it is back unchanged. A player that is back is a new
    // one for them (`player.added`), so they get its removal first.
    else if (shape !== 'player') this.#forgetRemoval({ collection, key, json });
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
    state.records.set(key, entry);
    this.#entries.set(entry.sequence, entry);
    this.#order += 1;
    state.order = this.#order;
    state.at = at;
    return entry;
  }

  #drop({ collection, key }: Drop, at: number): JournalEntry | undefined {
    const state = this.#collections[collection];
    const before = state.records.get(key);
    if (before === undefined) return undefined;
    state.records.delete(key);
    this.#entries.delete(before.sequence);
    this.#order += 1;
    state.order = this.#order;
    state.at = at;
    const removal = { collection, key, json: before.json, at };
    if (state.spec.removed !== undefined) return this.#keep('removal', removal);
    return needsSnapshot(state.spec) ? this.#forget(removal) : undefined;
  }

  /**
   * Numbers a removal that has no event, and does not keep it. A reader that has not read up to this number
   * gets a snapshot, which lacks the record.
   */
  #forget(removal: Content): JournalEntry {
    this.#newest += 1;
    this.#forgotten.set(removal.collection, this.#newest);
    return { ...removal, kind: 'removal', sequence: this.#newest, since: this.#newest, rank: 0 };
  }

  /** Keeps an entry until newer ones of its kind fill the bound. */
  #keep(kind: 'removal' | 'action', content: Content): JournalEntry {
    this.#newest += 1;
    const entry: JournalEntry = { ...content, sequence: this.#newest, kind, since: this.#newest, rank: 0 };
    const kept = this.#kept[kind];
    if (kind === 'removal') this.#forgetRemoval(content);
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
   * Deletes the earlier removal of the same record. The texts are compared, too, because a sound server that
   * restarts reuses its ids: the next record under a key may be a different one with another name, and
   * clients know records by their names (docs/http-api.md, "Names of clients"). The texts of players are not
   * compared, because a player's key is its name.
   */
  #forgetRemoval({ collection, key, json }: Omit<Content, 'at'>): void {
    const isPlayer = COLLECTION_SPECS[collection].shape === 'player';
    for (const entry of this.#kept.removal.entries) {
      if (entry.key !== key || entry.collection !== collection) continue;
      if (!isPlayer && entry.json !== json) continue;
      this.#kept.removal.delete(entry);
      this.#entries.delete(entry.sequence);
      return;
    }
  }
}
