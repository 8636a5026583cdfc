// The state of every backend as the gateway knows it: JSON texts by collection and key, and what their changes mean as events.
// Pure: the clock is an argument, no text is ever parsed, nothing is sent from here.

import { BACKENDS, type Backend, type BackendHealth } from '../protocol/actor/backends.js';
import {
  ACTIONS,
  COLLECTIONS,
  type Collection,
  type CollectionSpec,
  type EventType,
} from '../protocol/actor/collections.js';
import type { Change } from '../protocol/actor/messages.js';
import type { MirrorRecord, Occurrence, SnapshotSource } from './events/occurrence.js';
import type { Page, PageMaker } from './page.js';
import { RESOURCES, type Resource, type ResourceSpec } from './resources.js';

type PutOrDrop = Extract<Change, { readonly kind: 'put' | 'drop' }>;
type RecordsOccurrence = Extract<Occurrence, { readonly kind: 'records' }>;

const SPECS: Readonly<Record<Collection, CollectionSpec>> = COLLECTIONS;
const COLLECTION_NAMES = Object.keys(COLLECTIONS) as readonly Collection[];
const RESOURCE_NAMES = Object.keys(RESOURCES) as readonly Resource[];

/** The records of one collection. */
interface Shelf {
  readonly live: Map<string, string>;
  /** Of the keys that were ever put with one: as many as their backend's settings name. */
  readonly places: Map<string, number>;
  /** Last texts from before the backend left `up`, kept only where no removal event told clients that they ended. */
  readonly remembered: Map<string, string>;
}

/** A run of changes that will leave as one event; the newest text of a key wins. */
interface Run {
  readonly collection: Collection;
  readonly removal: boolean;
  readonly records: Map<string, string>;
}

/**
 * `apply` and `health` answer with what clients have to be told, which the caller publishes at once: the mirror already
 * tells the new state. A collection that does not exist is a defect and throws.
 */
export class Mirror implements SnapshotSource {
  readonly #shelves: ReadonlyMap<Collection, Shelf>;
  #health: ReadonlyMap<Backend, BackendHealth>;
  readonly #pages = new Map<Resource, Page>();
  readonly #changedAt = new Map<Resource, number>();
  readonly #maker: PageMaker;
  readonly #date: () => number;

  /** `date` gives milliseconds since the epoch. Each enabled backend starts as `connecting`. */
  constructor(enabled: readonly Backend[], maker: PageMaker, date: () => number) {
    this.#maker = maker;
    this.#date = date;
    this.#shelves = new Map(
      COLLECTION_NAMES.map(
        (name) => [name, { live: new Map(), places: new Map(), remembered: new Map() }] as const,
      ),
    );
    this.#health = new Map(
      BACKENDS.filter((backend) => enabled.includes(backend)).map((backend) => [
        backend,
        { state: 'connecting', since: date(), restarts: 0 },
      ]),
    );
  }

  /** Takes a batch in; what comes back is what clients have to be told, in order. Equal texts are no change. */
  apply(changes: readonly Change[]): readonly Occurrence[] {
    const occurrences: Occurrence[] = [];
    let run: Run | undefined;
    for (const change of changes) {
      if (change.kind === 'event') {
        flush(run, occurrences);
        run = undefined;
        occurrences.push({
          kind: 'action',
          backend: ACTIONS[change.type],
          type: change.type,
          json: change.json,
        });
        continue;
      }
      const record = this.#take(change);
      const removal = change.kind === 'drop';
      if (record === undefined || eventOf(change.collection, removal) === undefined) continue;
      if (run === undefined || run.collection !== change.collection || run.removal !== removal) {
        flush(run, occurrences);
        run = { collection: change.collection, removal, records: new Map() };
      }
      run.records.set(record.key, record.json);
    }
    flush(run, occurrences);
    return occurrences;
  }

  /**
   * Takes a backend's state in. Every state but `up` empties the backend's collections: texts of a lost or dead peer
   * are no longer true, and neither are those of a half-finished first reading.
   */
  health(backend: Backend, health: BackendHealth): readonly Occurrence[] {
    const before = this.#health.get(backend);
    if (before === undefined) return [];
    this.#health = new Map(this.#health).set(backend, health);
    // A resource that no record has touched has been what it is since its backend came up.
    if (health.state === 'up' && before.state !== 'up') this.#renew((spec) => spec.backend === backend);
    const told = before.state === health.state && before.detail === health.detail;
    const occurrences: Occurrence[] = told ? [] : [backendOccurrence(backend, health)];
    for (const [name, shelf] of this.#shelvesOf(backend)) {
      if (health.state === 'up') shelf.remembered.clear();
      else occurrences.push(...this.#empty(name, shelf));
    }
    return occurrences;
  }

  /** Undefined: the backend is not enabled. */
  healthOf(backend: Backend): BackendHealth | undefined {
    return this.#health.get(backend);
  }

  /** All enabled backends, in start order. Another map with each change. */
  allHealth(): ReadonlyMap<Backend, BackendHealth> {
    return this.#health;
  }

  /** The joined text of a resource; undefined while its backend is not up or has not told all of it. */
  read(resource: Resource): Page | undefined {
    const spec: ResourceSpec = RESOURCES[resource];
    if (this.#health.get(spec.backend)?.state !== 'up') return undefined;
    const known = this.#pages.get(resource);
    if (known !== undefined) return known;
    const text = spec.join((collection) => this.#texts(collection));
    const changedAt = this.#changedAt.get(resource);
    if (text === undefined || changedAt === undefined) return undefined;
    const page = this.#maker.make(text, changedAt);
    this.#pages.set(resource, page);
    return page;
  }

  snapshot(): readonly Occurrence[] {
    const occurrences: Occurrence[] = [];
    for (const [backend, health] of this.#health) {
      occurrences.push(backendOccurrence(backend, health));
      for (const [collection, shelf] of this.#shelvesOf(backend)) {
        // What is remembered is told as well: when it comes back with the same text, nobody is told again.
        const records = new Map([...shelf.remembered, ...shelf.live]);
        flush({ collection, removal: false, records }, occurrences);
      }
    }
    return occurrences;
  }

  /** Stores one change; undefined: nothing to tell. */
  #take(change: PutOrDrop): MirrorRecord | undefined {
    const shelf = this.#shelf(change.collection);
    const { key } = change;
    const current = shelf.live.get(key);
    if (change.kind === 'drop') {
      if (current === undefined) return undefined;
      shelf.live.delete(key);
      this.#touch(change.collection);
      return { key, json: current };
    }
    if (change.place !== undefined) shelf.places.set(key, change.place);
    if (current === change.json) return undefined;
    const told = current ?? shelf.remembered.get(key);
    shelf.live.set(key, change.json);
    this.#touch(change.collection);
    return told === change.json ? undefined : { key, json: change.json };
  }

  /** Empties a collection whose backend left `up`. */
  #empty(name: Collection, shelf: Shelf): readonly Occurrence[] {
    if (shelf.live.size === 0) return [];
    const records = new Map(shelf.live);
    shelf.live.clear();
    this.#touch(name);
    const occurrences: Occurrence[] = [];
    if (eventOf(name, true) === undefined) {
      for (const [key, json] of records) shelf.remembered.set(key, json);
    } else flush({ collection: name, removal: true, records }, occurrences);
    return occurrences;
  }

  #touch(collection: Collection): void {
    this.#renew((spec) => spec.collections.includes(collection));
  }

  #renew(isMeant: (spec: ResourceSpec) => boolean): void {
    const date = this.#date();
    for (const resource of RESOURCE_NAMES) {
      if (!isMeant(RESOURCES[resource])) continue;
      this.#pages.delete(resource);
      this.#changedAt.set(resource, date);
    }
  }

  #shelf(collection: Collection): Shelf {
    const shelf = this.#shelves.get(collection);
    if (shelf === undefined) throw new Error(`No shelf for the collection ${collection}`);
    return shelf;
  }

  #shelvesOf(backend: Backend): readonly (readonly [Collection, Shelf])[] {
    return [...this.#shelves].filter(([name]) => SPECS[name].backend === backend);
  }

  #texts(collection: Collection): readonly string[] {
    const { live, places } = this.#shelf(collection);
    const placeOf = (key: string): number => places.get(key) ?? places.size;
    return [...live].sort(([a], [b]) => placeOf(a) - placeOf(b)).map(([, json]) => json);
  }
}

function backendOccurrence(backend: Backend, health: BackendHealth): Occurrence {
  const { state, detail } = health;
  const occurrence = { kind: 'backend', backend, type: 'backend.updated', state } as const;
  return detail === undefined ? occurrence : { ...occurrence, detail };
}

/** Undefined: such changes are not events. */
function eventOf(collection: Collection, removal: boolean): EventType | undefined {
  return removal ? SPECS[collection].removed : SPECS[collection].updated;
}

/** Appends a run as the occurrences that its collection's shape asks for; collections without an event make none. */
function flush(run: Run | undefined, occurrences: Occurrence[]): void {
  if (run === undefined || run.records.size === 0) return;
  const { collection, removal } = run;
  const spec = SPECS[collection];
  const type = eventOf(collection, removal);
  if (type === undefined) return;
  const records = [...run.records].map(([key, json]): MirrorRecord => ({ key, json }));
  const occurrence = (of: readonly MirrorRecord[]): RecordsOccurrence => ({
    kind: 'records',
    backend: spec.backend,
    type,
    collection,
    removal,
    records: of,
  });
  if (spec.shape === 'list') occurrences.push(occurrence(records));
  else occurrences.push(...records.map((record) => occurrence([record])));
}
