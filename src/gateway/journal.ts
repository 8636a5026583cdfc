// The journal answers what has changed since you last looked. It holds the newest text of every record, the last removals and the last
// actions, in the order of their sequence numbers. Pure: it parses no text, reads no clock and sends nothing.
//
// A reader that has everything up to some number reads on from there: of each record the newest text, every removal, every action.

import { COLLECTION_NAMES, type Collection, SPECS } from '../protocol/actor/collections.js';
import type { Change } from '../protocol/actor/messages.js';

/** docs/events.md, "Coming back": of removals and of actions. */
const KEPT_MAX = 1024;
/** A record may have 130 kB, and 1024 of these would fill a small node's memory. */
const KEPT_BYTES_MAX = 2 * 1024 * 1024;
/** About what an entry costs beside its text. */
const ENTRY_OVERHEAD_BYTES = 96;

export type EntryKind = 'record' | 'removal' | 'action';

/** Immutable: a change of its record makes another one. */
export interface JournalEntry {
  readonly sequence: number;
  readonly kind: EntryKind;
  readonly collection: Collection;
  readonly key: string;
  /** JSON; of a removal the record's last text. */
  readonly json: string;
  /** The sequence number with which the record came; clients that have read less do not know it. */
  readonly since: number;
  readonly rank: number;
}

/** Entries that are no record any more, the oldest first, within a bound. */
class Kept {
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

  /** Takes out the oldest one as long as there are too many. */
  takeExcess(): JournalEntry | undefined {
    if (this.#entries.size <= KEPT_MAX && this.#bytes <= KEPT_BYTES_MAX) return undefined;
    const [oldest] = this.#entries.keys();
    return oldest === undefined ? undefined : this.remove(oldest);
  }
}

export class Journal {
  /** In the order of their sequence numbers. */
  readonly #entries = new Set<JournalEntry>();
  readonly #live = new Map(COLLECTION_NAMES.map((name) => [name, new Map<string, JournalEntry>()] as const));
  readonly #kept = { removal: new Kept(), action: new Kept() };
  /** The highest sequence number of what was forgotten, by collection. */
  readonly #forgotten = new Map<Collection, number>();
  #newest = 0;

  /** The sequence number of the newest entry; 0 before the first. */
  get newest(): number {
    return this.#newest;
  }

  /** Takes changes in; answers with what they have come to, in order, the newest of each key. Equal texts are no change. */
  apply(changes: readonly Change[]): readonly JournalEntry[] {
    const entries: JournalEntry[] = [];
    for (const change of changes) {
      const entry = change.kind === 'put' ? this.#put(change) : this.#drop(change.collection, change.key);
      if (entry !== undefined) entries.push(entry);
    }
    // An action that is forgotten at once has happened all the same.
    return entries.filter((entry) => entry.kind !== 'record' || this.#entries.has(entry));
  }

  /** The drops that empty the collections of a backend whose records have gone, but for those that never end. */
  leaving(backend: string): readonly Change[] {
    return COLLECTION_NAMES.filter(
      (name) => SPECS[name].backend === backend && (SPECS[name].removed || SPECS[name].keeps === 'passing'),
    ).flatMap((collection) =>
      [...this.#records(collection).keys()].map((key) => ({ kind: 'drop' as const, collection, key })),
    );
  }

  /** The live records of a collection, in the order in which they came. */
  records(collection: Collection): Iterable<JournalEntry> {
    return this.#records(collection).values();
  }

  /** The entries behind a sequence number. May be walked while changes come in: it then meets these, too. */
  *after(sequence: number): Iterable<JournalEntry> {
    if (sequence === this.#newest) return;
    for (const entry of this.#entries) if (entry.sequence > sequence) yield entry;
  }

  /** True while nothing behind a sequence number was forgotten in the collections that are wanted. */
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

  /** The same record again, whose removal holds no more. Other words under its key may be another record, with another name. */
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

/**
 * A removal is identified by its words, too: a sound server that starts again counts anew, so the next record under a key is another
 * one with another name, and clients know records by their names (docs/http-api.md, "Names of clients").
 */
function removalId({ collection, key, json }: Pick<JournalEntry, 'collection' | 'key' | 'json'>): string {
  const words = SPECS[collection].shape === 'player' ? '' : json;
  return `${collection}/${key}/${words}`;
}

/** A removal's text is in its id as well. */
function sizeOf({ kind, json }: JournalEntry): number {
  return Buffer.byteLength(json) * (kind === 'removal' ? 2 : 1) + ENTRY_OVERHEAD_BYTES;
}
