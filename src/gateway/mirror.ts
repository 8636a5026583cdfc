// The state of every backend as the gateway knows it: JSON texts by collection and key, and what their changes mean as events.
// Pure: the clock is an argument, no text is ever parsed, nothing is sent from here.

import { type BackendHealth, CHILD_NAMES, type ChildName } from '../protocol/actor/backends.js';
import { COLLECTIONS, type Collection, type CollectionSpec } from '../protocol/actor/collections.js';
import type { Change } from '../protocol/actor/messages.js';
import { RESOURCES, type Resource, type ResourceSpec } from '../protocol/actor/resources.js';
import {
  backendEvent,
  eventOf,
  passingEvent,
  type RecordChange,
  recordEvents,
  type SnapshotSource,
  type StreamEvent,
  snapshotMark,
} from './events/event.js';
import type { CachedResponse, ResponseMaker } from './reply.js';

type StateChange = Extract<Change, { readonly kind: 'put' | 'drop' }>;

const SPECS: Readonly<Record<Collection, CollectionSpec>> = COLLECTIONS;
const COLLECTION_NAMES = Object.keys(COLLECTIONS) as readonly Collection[];
const RESOURCE_NAMES = Object.keys(RESOURCES) as readonly Resource[];
/** Which answers each collection is part of: looked up with every change. */
const RESOURCES_OF = new Map(
  COLLECTION_NAMES.map((name) => [name, resourcesWhere((spec) => spec.collections.includes(name))] as const),
);

function resourcesWhere(isMeant: (spec: ResourceSpec) => boolean): readonly Resource[] {
  return RESOURCE_NAMES.filter((resource) => isMeant(RESOURCES[resource]));
}

/** JSON texts by key. */
interface Records {
  readonly live: Map<string, string>;
  /** Of the keys that were ever put with one: as many as their backend's settings name. */
  readonly ranks: Map<string, number>;
  /** Last texts from before the backend left `up`, kept only where no removal event told clients that they ended. */
  readonly remembered: Map<string, string>;
}

/**
 * `apply` and `health` answer with what clients have to be told, which the caller publishes at once: the mirror already
 * tells the new state. A collection that does not exist is a defect and throws.
 */
export class Mirror implements SnapshotSource {
  readonly #collections: ReadonlyMap<Collection, Records>;
  #health: ReadonlyMap<ChildName, BackendHealth>;
  readonly #cached = new Map<Resource, CachedResponse>();
  readonly #changedAt = new Map<Resource, number>();
  readonly #maker: ResponseMaker;
  readonly #date: () => number;

  /** `date` gives milliseconds since the epoch. Each enabled child starts as `connecting`. */
  constructor(enabled: readonly ChildName[], maker: ResponseMaker, date: () => number) {
    this.#maker = maker;
    this.#date = date;
    this.#collections = new Map(
      COLLECTION_NAMES.map(
        (name) => [name, { live: new Map(), ranks: new Map(), remembered: new Map() }] as const,
      ),
    );
    this.#health = new Map(
      CHILD_NAMES.filter((child) => enabled.includes(child)).map((child) => [
        child,
        { state: 'connecting', since: date(), restarts: 0 },
      ]),
    );
  }

  /**
   * Takes a batch in; what comes back is what clients have to be told, in order. Equal texts are no change. Neighbouring
   * changes of one kind are told together, the newest text of a key.
   */
  apply(changes: readonly Change[]): readonly StreamEvent[] {
    const events: StreamEvent[] = [];
    let collection: Collection | undefined;
    let kind: RecordChange = 'updated';
    let texts = new Map<string, string>();
    const tell = (): void => {
      if (collection !== undefined) events.push(...recordEvents(collection, kind, texts, this.#date()));
      collection = undefined;
    };
    for (const change of changes) {
      if (change.kind === 'event') {
        tell();
        events.push(passingEvent(change.type, change.json));
        continue;
      }
      const taken = this.#take(change);
      if (taken === undefined) continue;
      const type = eventOf(change.collection, taken.kind);
      if (type === undefined) continue;
      if (change.collection !== collection || type !== eventOf(collection, kind)) {
        tell();
        ({ collection } = change);
        ({ kind } = taken);
        texts = new Map();
      }
      texts.set(change.key, taken.text);
    }
    tell();
    return events;
  }

  /**
   * Takes a backend's state in. Every state but `up` empties the backend's collections: texts of a lost or dead peer
   * are no longer true, and neither are those of a half-finished first reading.
   */
  health(backend: ChildName, health: BackendHealth): readonly StreamEvent[] {
    const before = this.#health.get(backend);
    if (before === undefined) return [];
    this.#health = new Map(this.#health).set(backend, health);
    // A resource that no record has touched has been what it is since its backend came up.
    if (health.state === 'up' && before.state !== 'up')
      this.#renew(resourcesWhere((spec) => spec.backend === backend));
    const told = before.state === health.state && before.detail === health.detail;
    const events: StreamEvent[] = told ? [] : [backendEvent(backend, health)];
    for (const [name, records] of this.#collectionsOf(backend)) {
      if (health.state === 'up') records.remembered.clear();
      else events.push(...this.#empty(name, records));
    }
    return events;
  }

  /** Undefined: the backend is not enabled. */
  healthOf(backend: ChildName): BackendHealth | undefined {
    return this.#health.get(backend);
  }

  /** All enabled children, in start order. */
  allHealth(): ReadonlyMap<ChildName, BackendHealth> {
    return this.#health;
  }

  /** The joined text of a resource; undefined while its backend is not up or has not told all of it. */
  read(resource: Resource): CachedResponse | undefined {
    const spec: ResourceSpec = RESOURCES[resource];
    if (this.#health.get(spec.backend)?.state !== 'up') return undefined;
    const known = this.#cached.get(resource);
    if (known !== undefined) return known;
    const text = spec.join((collection) => this.#texts(collection));
    const changedAt = this.#changedAt.get(resource);
    if (text === undefined || changedAt === undefined) return undefined;
    const made = this.#maker.make(text, changedAt);
    this.#cached.set(resource, made);
    return made;
  }

  /** Every record that is known, as it was put. */
  records(): readonly Change[] {
    return [...this.#collections].flatMap(([collection, { live }]) =>
      [...live].map(([key, json]) => ({ kind: 'put' as const, collection, key, json })),
    );
  }

  snapshot(): readonly StreamEvent[] {
    return [...this.#health].flatMap(([backend, health]) => [
      snapshotMark(backend, health),
      // What is remembered is told as well: when it comes back with the same text, nobody is told again.
      ...this.#collectionsOf(backend).flatMap(([name, { remembered, live }]) =>
        recordEvents(name, 'added', new Map([...remembered, ...live]), this.#date()),
      ),
    ]);
  }

  /** Stores one change. What is to be told of it, for a drop the last text; undefined: nothing. */
  #take(change: StateChange): { readonly kind: RecordChange; readonly text: string } | undefined {
    const { live, ranks, remembered } = this.#records(change.collection);
    const { key } = change;
    const current = live.get(key);
    if (change.kind === 'drop') {
      if (live.delete(key)) this.#touch(change.collection);
      return current === undefined ? undefined : { kind: 'removed', text: current };
    }
    const text = change.json;
    if (SPECS[change.collection].isPassing) return { kind: 'updated', text };
    if (change.rank !== undefined) ranks.set(key, change.rank);
    if (current === text) return undefined;
    const told = current ?? remembered.get(key);
    live.set(key, text);
    this.#touch(change.collection);
    return told === text ? undefined : { kind: told === undefined ? 'added' : 'updated', text };
  }

  /** Empties a collection whose backend left `up`. */
  #empty(name: Collection, { live, remembered }: Records): readonly StreamEvent[] {
    if (live.size === 0) return [];
    const events = recordEvents(name, 'removed', live, this.#date());
    if (eventOf(name, 'removed') === undefined) for (const [key, json] of live) remembered.set(key, json);
    live.clear();
    this.#touch(name);
    return events;
  }

  #touch(collection: Collection): void {
    this.#renew(RESOURCES_OF.get(collection) ?? []);
  }

  #renew(resources: readonly Resource[]): void {
    const date = this.#date();
    for (const resource of resources) {
      this.#cached.delete(resource);
      this.#changedAt.set(resource, date);
    }
  }

  #records(collection: Collection): Records {
    const records = this.#collections.get(collection);
    if (records === undefined) throw new Error(`There is no collection ${collection}`);
    return records;
  }

  #collectionsOf(backend: ChildName): readonly (readonly [Collection, Records])[] {
    return [...this.#collections].filter(([name]) => SPECS[name].backend === backend);
  }

  #texts(collection: Collection): readonly string[] {
    const { live, ranks } = this.#records(collection);
    const rankOf = (key: string): number => ranks.get(key) ?? ranks.size;
    return [...live].sort(([a], [b]) => rankOf(a) - rankOf(b)).map(([, json]) => json);
  }
}
