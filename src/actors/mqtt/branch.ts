// Decides which record becomes which topic, and which text each topic of the node's branch has now. Topics
// in this file are relative to the node's topic. Pure.

import {
  type Backend,
  type BackendHealth,
  type BackendState,
  CHILD_NAMES,
  type ChildName,
} from '../../protocol/actor/backends.js';
import {
  COLLECTION_SPECS,
  type Collection,
  RESOURCES,
  type Resource,
} from '../../protocol/actor/collections.js';
import type { BackendRecord, Change, ChangeBatch, ServedRecord } from '../../protocol/actor/messages.js';
import type { UpgradeRecord } from '../../protocol/actor/schemas.js';
import { UniqueNames } from '../unique-names.js';
import { clientReference, deviceReference } from './references.js';
import { playerName, topicLevel } from './topics.js';

/**
 * Topics of whole resources. The text of each topic is the answer to a `GET` of its resource. Only a long
 * text of `upgrade` is shortened (`UPGRADE_MAX_BYTES`).
 */
const RESOURCE_TOPICS: readonly (readonly [topic: string, resource: Resource])[] = [
  ['audio/server', 'audio.server'],
  ['audio/clients', 'audio.clients'],
  ['audio/sleep', 'audio.sleep'],
  ['upgrade', 'upgrade'],
  ['bluetooth', 'bluetooth'],
];

/** Collections with a topic for each record. The function makes the topic from the record's key and name. */
const RECORD_TOPICS: Partial<Readonly<Record<Collection, (key: string, name: string) => string>>> = {
  'audio.outputs': (_key, name) => `audio/outputs/${topicLevel(name)}`,
  'audio.inputs': (_key, name) => `audio/inputs/${topicLevel(name)}`,
  'audio.cards': (_key, name) => `audio/cards/${topicLevel(name)}`,
  players: (key) => `players/${topicLevel(playerName(key))}`,
  'systemd.services': (key) => `services/${key.split('/').map(topicLevel).join('/')}`,
};

/**
 * Collections in which several records may have the same name, by the kind of their records. A request
 * refers to a record by a parameter with the name of its kind: `{ output: 'Kitchen' }` means a record of
 * `audio.outputs`.
 */
const COLLECTIONS_BY_KIND = {
  output: 'audio.outputs',
  input: 'audio.inputs',
  card: 'audio.cards',
} as const satisfies Record<string, Collection>;

/** The kinds of records whose names in topics and entities are made unique. */
type NamedKind = keyof typeof COLLECTIONS_BY_KIND;

/** Requests refer to records of these kinds. */
export type ReferredKind = NamedKind | 'client';

export interface NamedRecord<T> {
  /** The name in topics and entities. No other record of the collection has it. */
  readonly name: string;
  readonly record: T;
}

/**
 * Collections whose records become entities in Home Assistant. They must include all collections of
 * `RECORD_TOPICS`, because `#put` makes no topic for a record of any other collection.
 */
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

/**
 * Entities are made from these members of records, at any depth. `id` and `scope` never change in a record,
 * but when a record has gone, a record with another id or scope may get its name.
 */
const ENTITY_MEMBERS = [
  'id',
  'scope',
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

const BACKENDS_BY_FIRST_LEVEL: ReadonlyMap<string, Backend> = new Map([
  ['audio', 'audio'],
  ['services', 'systemd'],
  ['power', 'power'],
  ['upgrade', 'upgrade'],
  ['players', 'players'],
  ['bluetooth', 'bluetooth'],
]);

/** Topics whose text the bridge polls, because no backend publishes it as a record. */
export type PolledTopic = 'server' | 'power';

/** A longer text of `upgrade` is published without its member `extra`, which no entity displays. */
const UPGRADE_MAX_BYTES = 64 * 1024;

interface Row {
  readonly json: string;
  /** The record's own name. Other records may have it too. */
  readonly recordName: string;
  /** The name in topics and entities. */
  readonly publishedName: string;
  /** Undefined for a record without a topic of its own. */
  readonly topic: string | undefined;
  /** A text that changes when an entity of this record may have to change; '' if there are no entities. */
  readonly entityFingerprint: string;
}

export class Branch {
  readonly #rows = new Map<Collection, Map<string, Row>>();
  readonly #uniqueNames = new Map<Collection, UniqueNames>();
  /** The newest answer for each polled topic. */
  readonly polled = new Map<PolledTopic, string>();
  /** The health of each enabled child. */
  readonly #health = new Map<string, BackendHealth>();
  /** The port and the addresses at which the node is served; undefined until they are known. */
  served: ServedRecord | undefined;

  /**
   * A text that changes when an entity may have come, gone or changed. It stays the same when only values
   * such as a volume change.
   */
  get entityFingerprint(): string {
    const fingerprints = [...this.#rows.values()].flatMap((rows) =>
      [...rows.values()].map(({ entityFingerprint }) => entityFingerprint),
    );
    const states = [...this.#health.values()].map(({ state }) => state);
    return JSON.stringify([this.served, ...this.polled.values(), ...states, ...fingerprints]);
  }

  applyChanges({ isWhole, changes }: ChangeBatch): void {
    // `polled` stays, because it comes from requests. `served` stays until a batch has a newer record.
    if (isWhole) {
      this.#rows.clear();
      this.#uniqueNames.clear();
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

  /** Empty while the collection's backend is not up, because its records may be outdated then. */
  records<T>(collection: Collection): readonly T[] {
    if (!this.#isBackendUp(collection)) return [];
    return this.#jsonTexts(collection).map((json) => JSON.parse(json) as T);
  }

  /** Empty while the collection's backend is not up. */
  namedRecords<T>(kind: NamedKind): readonly NamedRecord<T>[] {
    const collection = COLLECTIONS_BY_KIND[kind];
    if (!this.#isBackendUp(collection)) return [];
    const rows = [...(this.#rows.get(collection)?.values() ?? [])];
    return rows.map(({ publishedName: name, json }) => ({ name, record: JSON.parse(json) as T }));
  }

  /** The name or id by which a request refers to the record that is published under `name`. */
  referenceTo(kind: ReferredKind, name: string): string {
    const noRows: ReadonlyMap<string, Row> = new Map();
    if (kind === 'client') return clientReference(this.#rows.get('audio.clients') ?? noRows, name);
    return deviceReference(this.#rows.get(COLLECTIONS_BY_KIND[kind]) ?? noRows, name);
  }

  /** The text of each topic; '' means that the topic must be emptied. A backend that is not up has none. */
  texts(): ReadonlyMap<string, string> {
    const texts = new Map<string, string>();
    for (const [topic, resource] of RESOURCE_TOPICS) {
      const { backend, join } = RESOURCES[resource];
      if (this.stateOf(backend) !== 'up') continue;
      texts.set(topic, join((collection) => this.#jsonTexts(collection)) ?? '');
    }
    for (const [collection, rows] of this.#rows) {
      if (!this.#isBackendUp(collection)) continue;
      for (const { topic, json } of rows.values()) if (topic !== undefined) texts.set(topic, json);
    }
    const server = this.polled.get('server');
    const power = this.polled.get('power');
    if (server !== undefined) texts.set('server', server);
    if (power !== undefined && this.stateOf('power') === 'up') texts.set('power', power);
    texts.set('backends', this.#backendsText());
    return texts;
  }

  /**
   * True if `texts` has all topics of the backend: the backend must be up, and for `power` the polled text
   * must be known. Also true for a backend that is not enabled, because it has no topics.
   */
  isComplete(backend: Backend): boolean {
    const state = this.stateOf(backend);
    if (backend === 'power' && state === 'up') return this.polled.has('power');
    return state === undefined || state === 'up';
  }

  /**
   * To be called for a retained topic that `texts` does not have. True if the topic must be emptied. False if
   * the topic must keep its text: `isComplete` is false for its backend, or the topic belongs to no backend.
   */
  mustBeEmptiedIfMissing(topic: string): boolean {
    const backend = BACKENDS_BY_FIRST_LEVEL.get(topic.split('/', 1)[0] ?? '');
    return backend !== undefined && this.isComplete(backend);
  }

  #isBackendUp(collection: Collection): boolean {
    const { backend } = COLLECTION_SPECS[collection];
    return backend !== undefined && this.stateOf(backend) === 'up';
  }

  #apply(change: Change): void {
    if (change.kind === 'drop') {
      this.#rows.get(change.collection)?.delete(change.key);
      // Only outputs, inputs and cards are in `#uniqueNames`, and their keys are numbers.
      this.#uniqueNames.get(change.collection)?.release(Number(change.key));
      if (change.collection === 'backends') this.#health.delete(change.key);
    } else if (change.collection === 'backends') {
      const { backend, ...health } = JSON.parse(change.json) as BackendRecord;
      this.#health.set(backend, health);
    } else if (change.collection === 'served') {
      this.served = JSON.parse(change.json) as ServedRecord;
    } else if (COLLECTION_SPECS[change.collection].keeps === undefined) {
      // A collection with `keeps` has no topics. If it keeps actions, bridge.ts publishes them as events.
      this.#put(change.collection, change.key, change.json);
    }
  }

  #put(collection: Collection, key: string, json: string): void {
    const rows = this.#rows.get(collection) ?? new Map<string, Row>();
    this.#rows.set(collection, rows);
    if (!ENTITY_COLLECTIONS.includes(collection)) {
      rows.set(key, { json, topic: undefined, entityFingerprint: '', publishedName: '', recordName: '' });
      return;
    }
    // Some records, such as those of players, have no `name`, so `record.name` is undefined in spite of its
    // type. This does no harm, because only the names of outputs, inputs and cards are used.
    const record = JSON.parse(json) as { readonly name: string };
    const name = this.#uniqueName(collection, key, record.name);
    const entityFingerprint = JSON.stringify([name, JSON.stringify(record, ENTITY_MEMBERS)]);
    rows.set(key, {
      json: collection === 'upgrade' ? upgradeText(json) : json,
      topic: RECORD_TOPICS[collection]?.(key, name),
      entityFingerprint,
      publishedName: name,
      recordName: record.name,
    });
  }

  #uniqueName(collection: Collection, key: string, name: string): string {
    const mayShareNames = Object.values<Collection>(COLLECTIONS_BY_KIND).includes(collection);
    if (!mayShareNames) return name;
    const names = this.#uniqueNames.get(collection) ?? new UniqueNames();
    this.#uniqueNames.set(collection, names);
    return names.assign(Number(key), name);
  }

  /** The backends, as `/health` has them. */
  #backendsText(): string {
    const healthByChild = new Map<ChildName, object>();
    for (const child of CHILD_NAMES) {
      const health = this.#health.get(child);
      if (health === undefined) continue;
      healthByChild.set(child, { ...health, since: new Date(health.since).toISOString() });
    }
    return JSON.stringify(Object.fromEntries(healthByChild));
  }

  #jsonTexts(collection: Collection): readonly string[] {
    return [...(this.#rows.get(collection)?.values() ?? [])].map(({ json }) => json);
  }
}

function upgradeText(json: string): string {
  if (Buffer.byteLength(json) <= UPGRADE_MAX_BYTES) return json;
  const { extra: _, ...withoutExtra } = JSON.parse(json) as UpgradeRecord;
  return JSON.stringify(withoutExtra);
}
