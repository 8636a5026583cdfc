// The journal holds the newest text of every record, the last removals and the last actions, by sequence
// number. An action is a text that never replaces another one, even if both have the same key
// (`keeps: 'actions'` in protocol/actor/collections.ts). The journal is pure: it parses no text, reads no
// clock and sends nothing.
//
// A reader that has everything up to a number continues after this number: it gets the newest text of each
// record that has changed since, and every later removal and action that is still kept.

import type { ChildName } from '../protocol/actor/backends.js';
import {
  COLLECTION_NAMES,
  COLLECTION_SPECS,
  type Collection,
  type CollectionSpec,
} from '../protocol/actor/collections.js';
import type { Change, Drop, Put } from '../protocol/actor/messages.js';

/** At most this many removals are kept, and this many actions (docs/events.md, "Coming back"). */
const KEPT_ENTRIES_MAX = 1024;
/**
 * All kept removals together have at most this size, and all kept actions together have the same limit.
 * Without this limit, 1024 long texts would fill a small node's memory.
 */
const KEPT_MAX_BYTES = 2 * 1024 * 1024;

/** An entry is immutable: a change of the record creates another entry. */
export interface JournalEntry {
  readonly sequence: number;
  readonly kind: 'record' | 'removal' | 'action';
  readonly collection: Collection;
  readonly key: string;
  /** JSON; for a removal, the record's last text. */
  readonly json: string;
  /**
   * The sequence number of the record's first entry. A client that has read up to this number knows the
   * record. For any other client the record is new.
   */
  readonly firstSequence: number;
  /**
   * The place in lists, the lowest first. Records without a place come last. Removals and actions are in no
   * list, so their rank has no effect.
   */
  readonly rank: number;
  /** In milliseconds since the epoch. */
  readonly changedAt: number;
}

type EntryContent = Pick<JournalEntry, 'collection' | 'key' | 'json' | 'changedAt'>;

/** A collection's last change. */
export interface LastChange {
  /** Its number among all changes of all records; 0 if the collection has not changed. */
  readonly changeNumber: number;
  readonly changedAt: number;
}

interface CollectionState extends LastChange {
  readonly spec: CollectionSpec;
  /** The current records, by key. */
  readonly records: Map<string, JournalEntry>;
  // In `LastChange` these two are readonly. Only the journal may set them.
  changeNumber: number;
  changedAt: number;
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

  /** The oldest entry if the bound is exceeded, else undefined. */
  get excess(): JournalEntry | undefined {
    if (this.entries.size <= KEPT_ENTRIES_MAX && this.#bytes <= KEPT_MAX_BYTES) return undefined;
    return this.entries.values().next().value;
  }
}

/**
 * True if changes of the collection's records make events, but removals make none. Then only a new snapshot
 * shows that a record is gone. The result is false for two kinds of such collections. With `keeps`, the
 * records are in no snapshot (protocol/actor/collections.ts). With `isPart`, each record is removed together
 * with a record of another collection, and the removal of that other record makes an event.
 */
function needsSnapshot({ updated, removed, keeps, isPart }: CollectionSpec): boolean {
  return updated !== undefined && removed === undefined && keeps === undefined && isPart === undefined;
}

export class Journal {
  /** All entries by sequence number, the lowest first. */
  readonly #entries = new Map<number, JournalEntry>();
  readonly #collections: Readonly<Record<Collection, CollectionState>>;
  readonly #kept = { removal: new BoundedEntries(), action: new BoundedEntries() };
  /**
   * By collection, the highest sequence number of a removal or action that readers need, but that the journal
   * does not have. A reader that has not read up to this number has missed something.
   */
  readonly #forgotten = new Map<Collection, number>();
  #changeCount = 0;
  #newestSequence = 0;

  constructor() {
    const empty = (name: Collection): CollectionState => ({
      spec: COLLECTION_SPECS[name],
      records: new Map(),
      changeNumber: 0,
      changedAt: 0,
    });
    const entries = COLLECTION_NAMES.map((name) => [name, empty(name)] as const);
    // `fromEntries` has a type that allows any text as a name.
    this.#collections = Object.fromEntries(entries) as Record<Collection, CollectionState>;
  }

  get newestSequence(): number {
    return this.#newestSequence;
  }

  /** The number of all changes of records so far. Some removals are counted although they have no entry. */
  get changeCount(): number {
    return this.#changeCount;
  }

  /**
   * Applies the changes, and returns the new entries in order. The entry of a put is left out if a later
   * change of the same call replaces or drops the record. A text that is equal to the record's last one is no
   * change, except in collections with `keeps`. `changedAt` is the time of the changes.
   */
  apply(changes: readonly Change[], changedAt: number): readonly JournalEntry[] {
    const entries: JournalEntry[] = [];
    for (const change of changes) {
      const entry = change.kind === 'put' ? this.#put(change, changedAt) : this.#drop(change, changedAt);
      if (entry !== undefined) entries.push(entry);
    }
    if (entries.length <= 1) return entries;
    // Removals and actions are returned even if a later change has deleted them from the journal already.
    return entries.filter((entry) => entry.kind !== 'record' || this.#entries.has(entry.sequence));
  }

  /**
   * The drops for a backend that is no longer up. They are for records whose removal makes an event, for the
   * parts of records (`isPart`), and for records with `keeps: 'passing'`. All other records, such as units,
   * keep their last text.
   */
  dropsWhenAway(backend: ChildName): readonly Drop[] {
    return this.#dropsOf(
      backend,
      ({ removed, keeps, isPart }) => removed !== undefined || keeps === 'passing' || isPart === true,
    );
  }

  allDrops(backend: ChildName): readonly Drop[] {
    return this.#dropsOf(backend, () => true);
  }

  #dropsOf(backend: ChildName, isDropped: (spec: CollectionSpec) => boolean): readonly Drop[] {
    const droppedCollections = COLLECTION_NAMES.filter(
      (name) => COLLECTION_SPECS[name].backend === backend && isDropped(COLLECTION_SPECS[name]),
    );
    return droppedCollections.flatMap((collection) =>
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
  *entriesAfter(sequence: number): Iterable<JournalEntry> {
    if (sequence === this.#newestSequence) return;
    for (const entry of this.#entries.values()) if (entry.sequence > sequence) yield entry;
  }

  /**
   * True if a reader that has read up to `sequence` misses no removal and no action of the relevant
   * collections.
   */
  isCompleteAfter(sequence: number, isRelevant: (collection: Collection) => boolean): boolean {
    for (const [collection, forgotten] of this.#forgotten)
      if (forgotten > sequence && isRelevant(collection)) return false;
    return true;
  }

  #put({ collection, key, json, rank }: Put, changedAt: number): JournalEntry | undefined {
    const state = this.#collections[collection];
    const { keeps, shape } = state.spec;
    if (keeps === 'actions') return this.#keep('action', { collection, key, json, changedAt });
    const before = state.records.get(key);
    if (before?.json === json && keeps !== 'passing') return undefined;
    if (before !== undefined) this.#entries.delete(before.sequence);
    // If a record is back with the same text, readers do not need its earlier removal. Players are the
    // exception: readers get `player.added` for a player that is back, so they must get `player.removed`
    // before it.
    if (before === undefined && shape !== 'player') this.#deleteEarlierRemoval({ collection, key, json });
    this.#newestSequence += 1;
    const entry: JournalEntry = {
      sequence: this.#newestSequence,
      kind: 'record',
      collection,
      key,
      json,
      firstSequence: before?.firstSequence ?? this.#newestSequence,
      rank: rank ?? before?.rank ?? Number.POSITIVE_INFINITY,
      changedAt,
    };
    state.records.set(key, entry);
    this.#entries.set(entry.sequence, entry);
    this.#changeCount += 1;
    state.changeNumber = this.#changeCount;
    state.changedAt = changedAt;
    return entry;
  }

  #drop({ collection, key }: Drop, changedAt: number): JournalEntry | undefined {
    const state = this.#collections[collection];
    const before = state.records.get(key);
    if (before === undefined) return undefined;
    state.records.delete(key);
    this.#entries.delete(before.sequence);
    this.#changeCount += 1;
    state.changeNumber = this.#changeCount;
    state.changedAt = changedAt;
    const removal = { collection, key, json: before.json, changedAt };
    if (state.spec.removed !== undefined) return this.#keep('removal', removal);
    return needsSnapshot(state.spec) ? this.#forget(removal) : undefined;
  }

  /**
   * A removal without an event gets a sequence number, and `apply` returns its entry, but the journal does
   * not keep the entry. A reader that has not read up to this number gets a snapshot without the record.
   */
  #forget(removal: EntryContent): JournalEntry {
    this.#newestSequence += 1;
    this.#forgotten.set(removal.collection, this.#newestSequence);
    return {
      ...removal,
      kind: 'removal',
      sequence: this.#newestSequence,
      firstSequence: this.#newestSequence,
      rank: 0,
    };
  }

  /** Keeps the entry. While the entries of this kind exceed the bound, forgets the oldest one. */
  #keep(kind: 'removal' | 'action', content: EntryContent): JournalEntry {
    this.#newestSequence += 1;
    const entry: JournalEntry = {
      ...content,
      sequence: this.#newestSequence,
      kind,
      firstSequence: this.#newestSequence,
      rank: 0,
    };
    const kept = this.#kept[kind];
    if (kind === 'removal') this.#deleteEarlierRemoval(content);
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
   * Deletes the earlier removal of the same record. Two records are the same if key and text are equal. An
   * equal key is not enough, because a sound server that restarts reuses its ids for records with other
   * names, and clients know records by their names (docs/http-api.md, "Names of clients"). An equal key is
   * enough for a player, because the key is the player's name. Only `#keep` calls this method for players:
   * `#put` leaves their removals in the journal, for the reason that stands there.
   */
  #deleteEarlierRemoval({ collection, key, json }: Omit<EntryContent, 'changedAt'>): void {
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
