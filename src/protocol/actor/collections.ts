// Decides which change of a record makes which event, and which records the answer to a GET joins. Pure.

import type { Backend, ChildName } from './backends.js';

/** The events (docs/events.md, "Events"), each with the schema of its data in the OpenAPI document. */
export const EVENTS = {
  'server.info': 'ServerInfo',
  'service.updated': 'Service',
  'audio.updated': 'Clients',
  'audio.removed': 'Clients',
  'audio.output.updated': 'Outputs',
  'audio.output.removed': 'Outputs',
  'audio.input.updated': 'Inputs',
  'audio.input.removed': 'Inputs',
  'audio.card.updated': 'Cards',
  'audio.card.removed': 'Cards',
  'audio.sleep': 'Sleep',
  'audio.level': 'AudioLevel',
  'power.action': 'PowerAction',
  'upgrade.info': 'UpgradeInfo',
  'upgrade.check': 'UpgradeCheck',
  'upgrade.progress': 'UpgradeProgress',
  'player.added': 'PlayerEvent',
  'player.updated': 'PlayerEvent',
  'player.removed': 'PlayerRemoval',
  'player.position': 'PlayerPositions',
  'player.tracklist.updated': 'TracklistEvent',
  'node.updated': 'Node',
  'node.removed': 'NodeRemoval',
  'bluetooth.updated': 'Bluetooth',
  'bluetooth.discovered': 'BluetoothDevice',
  'backend.updated': 'BackendUpdate',
} as const;

export type EventType = keyof typeof EVENTS;

/**
 * The event with the newest reading of the meters. It has no id, is never kept, and goes only to streams
 * that ask for it.
 */
export const LEVEL_EVENT = 'audio.level' satisfies EventType;
/** The backend that has the meters. */
export const LEVEL_BACKEND = 'audio' satisfies Backend;

export interface CollectionSpec {
  /** Absent for records that the gateway makes. */
  readonly backend?: ChildName;
  /** The event of a new record. By default it is the event in `updated`. */
  readonly added?: EventType;
  /**
   * The event of a changed record, and of a new one if `added` is absent. If `updated` is absent, changes of
   * this collection make no event.
   */
  readonly updated?: EventType;
  /**
   * The event of a removed record. If it is absent, streams get a new snapshot, which lacks the record
   * (`needsSnapshot` in gateway/journal.ts has the exceptions). Such removals are rare. An example is a unit
   * that becomes hidden, because it is now an upgrade unit.
   */
  readonly removed?: EventType;
  /**
   * True if each record belongs to a record of another collection, as a tracklist belongs to a player. When
   * the backend goes away, both are removed, but only the removal of that other record makes an event.
   */
  readonly isPart?: true;
  /**
   * The JSON of the collection's events. By default it is the record; for a removal, the last record. Else:
   * - `list`: an array of one or more records. Changes that directly follow each other may share one event.
   * - `player`: `{data, emitted_at}` with the record as `data`; for a removal an object with only the bus
   *   name, which is the key.
   * - `tracklist`: the record with the bus name, which is the key, as its first member.
   * - `node`: the record; for a removal an object with only the name, which is the key.
   * - `backend`: the record without the members that only `/health` has.
   */
  readonly shape?: 'list' | 'player' | 'tracklist' | 'node' | 'backend';
  /**
   * How the journal keeps the collection's records. By default it keeps the newest text of each key, and a
   * text that is equal to the last one makes no event. Else:
   * - `passing`: it keeps the newest text of each key, but the records are in no snapshot. Clients get the
   *   same content from another collection, or by a `GET`. Even a text that is equal to the last one makes
   *   an event.
   * - `actions`: every text is an action of its own, whatever its key.
   */
  readonly keeps?: 'passing' | 'actions';
  /**
   * Another collection. In snapshots, each of its records replaces the record with the same key in this
   * collection. The replacing record has the same members, and may have more: the run in `upgrade.run` also
   * has the progress.
   */
  readonly inSnapshots?: 'upgrade.run';
}

/** A row for records of the sound server. One event may carry several records. */
function soundServerRow<Prefix extends string>(eventPrefix: Prefix) {
  return {
    backend: 'audio',
    updated: `${eventPrefix}.updated`,
    removed: `${eventPrefix}.removed`,
    shape: 'list',
  } as const;
}

const COLLECTIONS = {
  /** Keyed by child, made by the gateway: the child's health as a `BackendRecord`. */
  backends: { updated: 'backend.updated', shape: 'backend' },
  /** One record, key '', made by the gateway: the HTTP addresses as a `ServedRecord`. */
  served: {},
  /** One record, key '': the sound server's kind as a JSON string. */
  'audio.kind': { backend: 'audio' },
  /** One record, key ''. */
  'audio.server': { backend: 'audio' },
  /** Keyed by sink index. */
  'audio.outputs': soundServerRow('audio.output'),
  /** Keyed by source index. */
  'audio.inputs': soundServerRow('audio.input'),
  /** Keyed by card index. */
  'audio.cards': soundServerRow('audio.card'),
  /** Keyed by sink input index. */
  'audio.clients': soundServerRow('audio'),
  /** One record, key ''. */
  'audio.sleep': { backend: 'audio', updated: 'audio.sleep' },
  /** Keyed by `SCOPE/UNIT`, ranked by the unit's position in the configuration. */
  'systemd.services': { backend: 'systemd', updated: 'service.updated' },
  'power.action': { backend: 'power', updated: 'power.action', keeps: 'actions' },
  /** One record, key '': the whole answer to `GET /upgrade`. */
  upgrade: { backend: 'upgrade' },
  /**
   * Two records, keys `status` and `run`: the parts of `upgrade` whose changes make the event `upgrade.info`.
   * An event with a `state` is a run, and an event without a `state` is a whole status.
   */
  'upgrade.info': { backend: 'upgrade', updated: 'upgrade.info', inSnapshots: 'upgrade.run' },
  /**
   * One record, key `run`: the run with its progress, for snapshots. After its snapshot, a stream gets the
   * progress from `upgrade.progress`, whose actions are in no snapshot.
   */
  'upgrade.run': { backend: 'upgrade' },
  /** One record, key '': the last check. */
  'upgrade.check': { backend: 'upgrade', updated: 'upgrade.check' },
  'upgrade.progress': { backend: 'upgrade', updated: 'upgrade.progress', keeps: 'actions' },
  /** Keyed by bus name. */
  players: {
    backend: 'players',
    added: 'player.added',
    updated: 'player.updated',
    removed: 'player.removed',
    shape: 'player',
  },
  /**
   * Keyed by bus name: the player's position. It is put after a jump, because clients cannot reckon a jump.
   */
  'players.position': { backend: 'players', updated: 'player.position', shape: 'list', keeps: 'passing' },
  /** Keyed by bus name: the answer to the `GET` of the tracklist. It is put after the player's record. */
  'players.tracklist': {
    backend: 'players',
    updated: 'player.tracklist.updated',
    shape: 'tracklist',
    isPart: true,
  },
  /** Keyed by name. */
  nodes: { backend: 'discovery', updated: 'node.updated', removed: 'node.removed', shape: 'node' },
  /** Keyed by trusted origin (docs/http-api.md, "The house"): the name of its node. */
  'nodes.origins': { backend: 'discovery', isPart: true },
  /** Keyed by origin that the page's policy allows (docs/http-api.md, "The page"): the name of its node. */
  'nodes.policy': { backend: 'discovery', isPart: true },
  /** One record, key ''. */
  bluetooth: { backend: 'bluetooth', updated: 'bluetooth.updated' },
  /**
   * Keyed by address: known devices, and those that a scan has found. They are `passing`, so that the
   * journal drops them when the backend is no longer up (`dropsWhenAway` in gateway/journal.ts), for example
   * because the adapter is gone.
   */
  'bluetooth.devices': { backend: 'bluetooth', keeps: 'passing' },
  /**
   * Keyed by address: a device that a scan has found, or that has changed during a scan. The record is also
   * in `bluetooth.devices`.
   */
  'bluetooth.discovered': { backend: 'bluetooth', updated: 'bluetooth.discovered', keeps: 'passing' },
  /**
   * A copy of the record of `bluetooth`. It is put when an attempt to connect has ended without a change of
   * the record, because the client of this attempt waits for an event.
   */
  'bluetooth.outcome': { backend: 'bluetooth', updated: 'bluetooth.updated', keeps: 'passing' },
} as const satisfies Record<string, CollectionSpec>;

export type Collection = keyof typeof COLLECTIONS;

export const COLLECTION_NAMES = Object.keys(COLLECTIONS) as readonly Collection[];

/** The same table, with one type for all rows, so that every optional field can be read. */
export const COLLECTION_SPECS: Readonly<Record<Collection, CollectionSpec>> = COLLECTIONS;

/**
 * A resource is the answer to a `GET` of the kind `document` (operations.ts). It joins records of its
 * `collections`. Some MQTT topics have the text of a resource, too.
 */
export interface ResourceSpec {
  readonly backend: ChildName;
  readonly collections: readonly Collection[];
  /**
   * Makes the answer's JSON; undefined while a record that the answer needs is missing. `texts` returns the
   * JSON texts of a collection, sorted by rank, then in the order in which they were first put.
   */
  join(texts: (collection: Collection) => readonly string[]): string | undefined;
}

/** A resource that is the array of a collection's records. */
function list(backend: ChildName, collection: Collection): ResourceSpec {
  return { backend, collections: [collection], join: (texts) => jsonArray(texts(collection)) };
}

/** A resource that is the only record of a collection. */
function single(backend: ChildName, collection: Collection): ResourceSpec {
  return { backend, collections: [collection], join: (texts) => texts(collection)[0] };
}

const jsonArray = (texts: readonly string[]): string => `[${texts.join(',')}]`;

export const RESOURCES = {
  audio: {
    backend: 'audio',
    collections: ['audio.kind', 'audio.server', 'audio.outputs', 'audio.clients'],
    join: (texts) => {
      const [kind] = texts('audio.kind');
      const [server] = texts('audio.server');
      if (kind === undefined || server === undefined) return undefined;
      const outputs = jsonArray(texts('audio.outputs'));
      const clients = jsonArray(texts('audio.clients'));
      return `{"kind":${kind},"server":${server},"outputs":${outputs},"clients":${clients}}`;
    },
  },
  'audio.server': single('audio', 'audio.server'),
  'audio.outputs': list('audio', 'audio.outputs'),
  'audio.inputs': list('audio', 'audio.inputs'),
  'audio.clients': list('audio', 'audio.clients'),
  'audio.cards': list('audio', 'audio.cards'),
  'audio.sleep': single('audio', 'audio.sleep'),
  services: list('systemd', 'systemd.services'),
  upgrade: single('upgrade', 'upgrade'),
  bluetooth: single('bluetooth', 'bluetooth'),
  'bluetooth.devices': list('bluetooth', 'bluetooth.devices'),
  players: list('players', 'players'),
  nodes: list('discovery', 'nodes'),
} as const satisfies Record<string, ResourceSpec>;

export type Resource = keyof typeof RESOURCES;
