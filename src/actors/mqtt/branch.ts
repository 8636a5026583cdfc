// The wanted content of the node's branch on the broker, computed from the received records: the table record -> topic. Pure.

import {
  type Backend,
  type BackendHealth,
  type BackendState,
  CHILD_NAMES,
  type ChildName,
} from '../../protocol/actor/backends.js';
import { type Collection, SPECS } from '../../protocol/actor/collections.js';
import type { BackendRecord, Change, ChangeBatch, ServedRecord } from '../../protocol/actor/messages.js';
import { RESOURCES, type Resource, type ResourceSpec } from '../../protocol/actor/resources.js';
import type {
  BluetoothRecord,
  CardRecord,
  OutputRecord,
  PlayerRecord,
} from '../../protocol/actor/schemas.js';
import { cardTitle } from './card-entities.js';
import { playerName, topicLevel } from './topics.js';

/** Topics with the same text as a `GET`. */
const WHOLE: Readonly<Record<string, Resource>> = {
  'audio/server': 'audio.server',
  'audio/clients': 'audio.clients',
  upgrade: 'upgrade',
  bluetooth: 'bluetooth',
};

interface RecordTopic {
  /** Below the node's topic. */
  readonly topic: string;
  /** The name that people see, if it can change. */
  readonly title: string;
}

/** Collections with a topic for each record. */
const EACH: Partial<Readonly<Record<Collection, (key: string, json: string) => RecordTopic>>> = {
  'audio.outputs': (_key, json) => {
    const { name, description } = JSON.parse(json) as OutputRecord;
    return { topic: `audio/outputs/${topicLevel(name)}`, title: description };
  },
  'audio.cards': (_key, json) => {
    const card = JSON.parse(json) as CardRecord;
    return { topic: `audio/cards/${topicLevel(card.name)}`, title: cardTitle(card) };
  },
  players: (key, json) => ({
    topic: `players/${topicLevel(playerName(key))}`,
    title: (JSON.parse(json) as PlayerRecord).identity,
  }),
  'systemd.services': (key) => ({ topic: `services/${key.split('/').map(topicLevel).join('/')}`, title: '' }),
};

/** The backend that owns a topic, by the topic's first level. */
const OWNERS: Readonly<Record<string, Backend>> = {
  audio: 'audio',
  services: 'systemd',
  power: 'power',
  upgrade: 'upgrade',
  players: 'players',
  bluetooth: 'bluetooth',
};

/** Topics whose text the bridge has to ask for, because it is not published as a record. */
export type AskedTopic = 'server' | 'power';

type Put = Extract<Change, { readonly kind: 'put' }>;

interface BranchListener {
  /** This topic may have another text now. */
  touched(topic: string): void;
  /** The set of things, or their names, may have changed, as opposed to their state. */
  membersTouched(): void;
  stateChanged(child: ChildName, state: BackendState): void;
}

/** Topics here are relative to the node's topic. */
export class Branch {
  readonly #listener: BranchListener;
  readonly #texts = new Map<Collection, Map<string, string>>();
  /** `#records`: the record of each topic; `#topics`: the topic of each record, by collection and key. */
  readonly #records = new Map<string, RecordTopic & { readonly key: string; readonly json: string }>();
  readonly #topics = new Map<string, string>();
  readonly #asked = new Map<AskedTopic, string>();
  readonly #health = new Map<ChildName, BackendHealth>();
  #served: ServedRecord | undefined;

  constructor(listener: BranchListener) {
    this.#listener = listener;
  }

  /** The addresses on which HTTP is served. */
  get served(): ServedRecord | undefined {
    return this.#served;
  }

  applyChanges({ isWhole, changes }: ChangeBatch): void {
    if (isWhole) this.#begin();
    for (const change of changes) this.#take(change);
  }

  answered(topic: AskedTopic, text: string): void {
    if (this.#asked.get(topic) === text) return;
    this.#asked.set(topic, text);
    this.#listener.touched(topic);
    this.#listener.membersTouched();
  }

  asked(topic: AskedTopic): string | undefined {
    return this.#asked.get(topic);
  }

  get children(): readonly ChildName[] {
    return CHILD_NAMES.filter((child) => this.#health.has(child));
  }

  /** Undefined if the child is not enabled. */
  stateOf(child: ChildName): BackendState | undefined {
    return this.#health.get(child)?.state;
  }

  texts(collection: Collection): readonly string[] {
    return [...this.#textsOf(collection).values()];
  }

  /** Every topic that may have content. */
  topics(): readonly string[] {
    return [...Object.keys(WHOLE), ...this.#records.keys(), ...this.#asked.keys(), 'backends'];
  }

  /**
   * The wanted text of a topic: '' means none, undefined unknown. While a backend is not up its records are unknown and its topics stay
   * as they are, with its state in `backends`; records that do not come back are removed when the backend is up again.
   */
  text(topic: string): string | undefined {
    if (topic === 'backends') return this.#backends();
    if (topic === 'server') return this.#asked.get('server');
    const [first = ''] = topic.split('/');
    const owner = Object.hasOwn(OWNERS, first) ? OWNERS[first] : undefined;
    if (owner === undefined) return undefined;
    const state = this.stateOf(owner);
    // Not enabled: it will never have content.
    if (state === undefined) return '';
    if (state !== 'up') return undefined;
    if (topic === 'power') return this.#asked.get('power');
    const resource = Object.hasOwn(WHOLE, topic) ? WHOLE[topic] : undefined;
    if (resource === undefined) return this.#records.get(topic)?.json ?? '';
    const spec: ResourceSpec = RESOURCES[resource];
    return spec.join((collection) => this.texts(collection));
  }

  /** Events are momentary, so no topic holds them. */
  #take(change: Change): void {
    if (change.kind === 'drop') this.#drop(change.collection, change.key);
    else if (change.collection === 'backends') this.#change(JSON.parse(change.json) as BackendRecord);
    else if (change.collection === 'served') {
      this.#served = JSON.parse(change.json) as ServedRecord;
      this.#listener.membersTouched();
    } else if (SPECS[change.collection].keeps === undefined) this.#put(change);
  }

  #begin(): void {
    for (const topic of this.topics()) this.#listener.touched(topic);
    this.#listener.membersTouched();
    for (const [collection, texts] of this.#texts) {
      for (const key of [...texts.keys()]) this.#drop(collection, key);
    }
    this.#health.clear();
  }

  #put({ collection, key, json }: Put): void {
    const before = this.#textsOf(collection).get(key);
    this.#textsOf(collection).set(key, json);
    this.#touchWhole(collection);
    // Their entities follow from the record itself; an equal device message is not published again.
    const isOther = collection === 'bluetooth' ? namesIn(before) !== namesIn(json) : before === undefined;
    if (isOther && (collection === 'bluetooth' || collection === 'upgrade')) this.#listener.membersTouched();
    const row = EACH[collection]?.(key, json);
    if (row === undefined) return;
    const { topic, title } = row;
    const id = recordId(collection, key);
    if (this.#topics.get(id) !== topic) this.#vacate(id, key);
    if (this.#records.get(topic)?.title !== title) this.#listener.membersTouched();
    this.#topics.set(id, topic);
    this.#records.set(topic, { ...row, key, json });
    this.#listener.touched(topic);
  }

  #drop(collection: Collection, key: string): void {
    this.#textsOf(collection).delete(key);
    this.#touchWhole(collection);
    this.#vacate(recordId(collection, key), key);
  }

  #change({ backend: child, ...health }: BackendRecord): void {
    const before = this.stateOf(child);
    this.#health.set(child, health);
    this.#listener.touched('backends');
    if (before === health.state) return;
    for (const topic of this.topics()) this.#listener.touched(topic);
    this.#listener.membersTouched();
    this.#listener.stateChanged(child, health.state);
  }

  #backends(): string {
    const rows = CHILD_NAMES.flatMap((child) => {
      const health = this.#health.get(child);
      if (health === undefined) return [];
      return [[child, { ...health, since: new Date(health.since).toISOString() }] as const];
    });
    return JSON.stringify(Object.fromEntries(rows));
  }

  #touchWhole(collection: Collection): void {
    for (const [topic, resource] of Object.entries(WHOLE)) {
      const { collections }: ResourceSpec = RESOURCES[resource];
      if (collections.includes(collection)) this.#listener.touched(topic);
    }
  }

  /** Another record may own the topic already: a restarted sound server gives its outputs new indices. */
  #vacate(id: string, key: string): void {
    const topic = this.#topics.get(id);
    if (topic === undefined) return;
    this.#topics.delete(id);
    if (this.#records.get(topic)?.key !== key) return;
    this.#records.delete(topic);
    this.#listener.touched(topic);
    this.#listener.membersTouched();
  }

  #textsOf(collection: Collection): Map<string, string> {
    const known = this.#texts.get(collection);
    if (known !== undefined) return known;
    const texts = new Map<string, string>();
    this.#texts.set(collection, texts);
    return texts;
  }
}

/** The known devices as their entities name them; how strong their signal is changes all the time during a scan. */
function namesIn(json: string | undefined): string {
  const { known_devices = [] } = JSON.parse(json ?? '{}') as Partial<BluetoothRecord>;
  return JSON.stringify([json === undefined, ...known_devices.map(({ address, name }) => [address, name])]);
}

function recordId(collection: Collection, key: string): string {
  return `${collection} ${key}`;
}
