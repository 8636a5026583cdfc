// The content of the node's branch on the broker: the table record -> topic. Topics here are relative to the
// node's. Pure.

import {
  type Backend,
  type BackendHealth,
  type BackendState,
  CHILD_NAMES,
  type ChildName,
} from '../../protocol/actor/backends.js';
import { type Collection, RESOURCES, type Resource, SPECS } from '../../protocol/actor/collections.js';
import type { BackendRecord, Change, ChangeBatch, ServedRecord } from '../../protocol/actor/messages.js';
import type { UpgradeRecord } from '../../protocol/actor/schemas.js';
import { UniqueNames } from '../unique-names.js';
import { playerName, topicLevel } from './topics.js';

/** Topics with the same text as a `GET`. */
const WHOLE: readonly (readonly [topic: string, resource: Resource])[] = [
  ['audio/server', 'audio.server'],
  ['audio/clients', 'audio.clients'],
  ['audio/sleep', 'audio.sleep'],
  ['upgrade', 'upgrade'],
  ['bluetooth', 'bluetooth'],
];

/** Collections with a topic for each record, which is made of the record's key and name. */
const EACH: Partial<Readonly<Record<Collection, (key: string, name: string) => string>>> = {
  'audio.outputs': (_key, name) => `audio/outputs/${topicLevel(name)}`,
  'audio.inputs': (_key, name) => `audio/inputs/${topicLevel(name)}`,
  'audio.cards': (_key, name) => `audio/cards/${topicLevel(name)}`,
  players: (key) => `players/${topicLevel(playerName(key))}`,
  'systemd.services': (key) => `services/${key.split('/').map(topicLevel).join('/')}`,
};

/**
 * Collections in which several records may have one name, keyed by the parameter that names a record in a
 * request.
 */
const SHARED_NAMES = {
  output: 'audio.outputs',
  input: 'audio.inputs',
  card: 'audio.cards',
} as const satisfies Record<string, Collection>;

export type NamedThing = keyof typeof SHARED_NAMES;

/** A record and its name in topics and entities. No other record has that name. */
export interface NamedRecord<T> {
  readonly name: string;
  readonly record: T;
}

/** Collections whose records become entities in Home Assistant. */
const ENTITY_COLLECTIONS: readonly Collection[] = [
  'audio.server',
  'audio.outputs',
  'audio.inputs',
  'audio.cards',
  'systemd.services',
  'players',
  'upgrade',
  'bluetooth',
];

/** The members of records, at any depth, on which entities depend. All other members are state. */
const ENTITY_MEMBERS = [
  'name',
  'description',
  'label',
  'volume_limit',
  'profiles',
  'bus_name',
  'identity',
  'known_devices',
  'address',
  'can_upgrade',
  'can_check',
  'default_sink',
];

/** The backend that owns a topic, by the topic's first level. */
const OWNERS: ReadonlyMap<string, Backend> = new Map([
  ['audio', 'audio'],
  ['services', 'systemd'],
  ['power', 'power'],
  ['upgrade', 'upgrade'],
  ['players', 'players'],
  ['bluetooth', 'bluetooth'],
]);

/** Topics whose text the bridge polls, because no backend publishes it as a record. */
export type PolledTopic = 'server' | 'power';

/** If the text of the upgrade is longer, it is published without `extra`, which no entity displays. */
const UPGRADE_MAX_BYTES = 64 * 1024;

interface Row {
  readonly json: string;
  /** The record's own name, which others may have too. */
  readonly recordName: string;
  /** Its name in topics and entities. */
  readonly name: string;
  readonly topic: string | undefined;
  /** Changes when an entity of this record changes; '' for a record that has no entities. */
  readonly entityFingerprint: string;
}

export class Branch {
  readonly #rows = new Map<Collection, Map<string, Row>>();
  readonly #names = new Map<Collection, UniqueNames>();
  /** The newest answer for each polled topic. */
  readonly polled = new Map<PolledTopic, string>();
  readonly #health = new Map<ChildName, BackendHealth>();
  served: ServedRecord | undefined;

  /** Changes when entities may have come, gone or been renamed. It does not depend on their state. */
  get entityFingerprint(): string {
    const fingerprints = [...this.#rows.values()].flatMap((rows) =>
      [...rows.values()].map(({ entityFingerprint }) => entityFingerprint),
    );
    const states = [...this.#health.values()].map(({ state }) => state);
    return JSON.stringify([this.served, ...this.polled.values(), ...states, ...fingerprints]);
  }

  applyChanges({ isWhole, changes }: ChangeBatch): void {
    if (isWhole) {
      this.#rows.clear();
      this.#names.clear();
      this.#health.clear();
    }
    for (const change of changes) this.#apply(change);
  }

  get children(): readonly ChildName[] {
    return CHILD_NAMES.filter((child) => this.#health.has(child));
  }

  /** Undefined if the child is not enabled. */
  stateOf(child: ChildName): BackendState | undefined {
    return this.#health.get(child)?.state;
  }

  /** While a backend is not up, its records are unknown: none. */
  records<T>(collection: Collection): readonly T[] {
    if (!this.#isUp(collection)) return [];
    return this.#texts(collection).map((text) => JSON.parse(text) as T);
  }

  /** The same for a collection in which several records may share a name: each gets a name of its own. */
  named<T>(thing: NamedThing): readonly NamedRecord<T>[] {
    const collection = SHARED_NAMES[thing];
    if (!this.#isUp(collection)) return [];
    const rows = [...(this.#rows.get(collection)?.values() ?? [])];
    return rows.map(({ name, json }) => ({ name, record: JSON.parse(json) as T }));
  }

  /**
   * How a request refers to the thing that is published under this name: by the name, or by the id if the
   * name alone could mean another thing.
   */
  referenceTo(thing: NamedThing, name: string): string {
    const rows = [...(this.#rows.get(SHARED_NAMES[thing]) ?? [])];
    const [key, row] = rows.find(([, each]) => each.name === name) ?? [];
    if (key === undefined || row === undefined) return name;
    const isId = rows.some(([other]) => other === name);
    const isShared = rows.filter(([, { recordName }]) => recordName === row.recordName).length > 1;
    return row.recordName === name && !isId && !isShared ? name : key;
  }

  /** The texts by topic, without the topics of backends that are not up. */
  texts(): ReadonlyMap<string, string> {
    const texts = new Map<string, string>();
    for (const [topic, resource] of WHOLE) {
      const { backend, join } = RESOURCES[resource];
      const text = join((collection) => this.#texts(collection)) ?? '';
      if (this.stateOf(backend) === 'up') texts.set(topic, text);
    }
    for (const [collection, rows] of this.#rows) {
      if (!this.#isUp(collection)) continue;
      for (const { topic, json } of rows.values()) if (topic !== undefined) texts.set(topic, json);
    }
    const server = this.polled.get('server');
    const power = this.polled.get('power');
    if (server !== undefined) texts.set('server', server);
    if (power !== undefined && this.stateOf('power') === 'up') texts.set('power', power);
    return texts.set('backends', this.#backends());
  }

  /** True if all records of the backend are known. A backend that is not enabled never has any. */
  isComplete(backend: Backend): boolean {
    const state = this.stateOf(backend);
    if (backend === 'power' && state === 'up') return this.polled.has('power');
    return state === undefined || state === 'up';
  }

  /**
   * True for a topic that is to be emptied if `texts` lacks it. Topics of a backend that is not up are left
   * as they are, and so are topics of no backend.
   */
  isSettled(topic: string): boolean {
    const owner = OWNERS.get(topic.split('/', 1)[0] ?? '');
    return owner !== undefined && this.isComplete(owner);
  }

  #isUp(collection: Collection): boolean {
    const { backend } = SPECS[collection];
    return backend !== undefined && this.stateOf(backend) === 'up';
  }

  #apply(change: Change): void {
    if (change.kind === 'drop') {
      this.#rows.get(change.collection)?.delete(change.key);
      this.#names.get(change.collection)?.release(Number(change.key));
    } else if (change.collection === 'backends') {
      const { backend, ...health } = JSON.parse(change.json) as BackendRecord;
      this.#health.set(backend, health);
    } else if (change.collection === 'served') this.served = JSON.parse(change.json) as ServedRecord;
    else if (SPECS[change.collection].keeps === undefined)
      this.#put(change.collection, change.key, change.json);
  }

  #put(collection: Collection, key: string, json: string): void {
    const rows = this.#rows.get(collection) ?? new Map<string, Row>();
    this.#rows.set(collection, rows);
    if (!ENTITY_COLLECTIONS.includes(collection)) {
      rows.set(key, { json, topic: undefined, entityFingerprint: '', name: '', recordName: '' });
      return;
    }
    const record = JSON.parse(json) as { readonly name: string };
    const name = this.#uniqueName(collection, key, record.name);
    const entityFingerprint = JSON.stringify([name, JSON.stringify(record, ENTITY_MEMBERS)]);
    rows.set(key, {
      json: collection === 'upgrade' ? upgradeText(json) : json,
      topic: EACH[collection]?.(key, name),
      entityFingerprint,
      name,
      recordName: record.name,
    });
  }

  #uniqueName(collection: Collection, key: string, name: string): string {
    if (!Object.values<Collection>(SHARED_NAMES).includes(collection)) return name;
    const names = this.#names.get(collection) ?? new UniqueNames();
    this.#names.set(collection, names);
    return names.assign(Number(key), name);
  }

  #backends(): string {
    const rows = CHILD_NAMES.flatMap((child) => {
      const health = this.#health.get(child);
      return health ? [[child, { ...health, since: new Date(health.since).toISOString() }]] : [];
    });
    return JSON.stringify(Object.fromEntries(rows));
  }

  #texts(collection: Collection): readonly string[] {
    return [...(this.#rows.get(collection)?.values() ?? [])].map(({ json }) => json);
  }
}

function upgradeText(json: string): string {
  if (Buffer.byteLength(json) <= UPGRADE_MAX_BYTES) return json;
  const { extra: _, ...rest } = JSON.parse(json) as UpgradeRecord;
  return JSON.stringify(rest);
}
