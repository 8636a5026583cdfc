// Tables of the records that children publish: their owner, the events of their changes, and which of them a
// GET joins. The journal, the event stream and the bridges use them; nothing else knows which collection
// causes which event. Pure.

import type { Backend, ChildName } from './backends.js';

/**
 * Every event of the stream (docs/events.md, "Events"), with the name of its data's schema in the OpenAPI
 * document.
 */
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
 * The newest reading of the meters: sent, without id, only to streams whose `types` names it, and never kept.
 */
export const LEVEL_EVENT = 'audio.level' satisfies EventType;
export const LEVEL_BACKEND = 'audio' satisfies Backend;

export interface CollectionSpec {
  /** Absent for records of the node itself, or of all children. */
  readonly backend?: ChildName;
  /** The event of a new record, if it differs from `updated`. */
  readonly added?: EventType;
  /** The event of a changed or new record; absent: changes of this collection are not events. */
  readonly updated?: EventType;
  /**
   * The event of a removed record. Absent: records are hardly ever removed, as with a unit that becomes
   * internal, and streams learn it by a snapshot.
   */
  readonly removed?: EventType;
  /**
   * Its records go with their backend without an event, because the removals of another collection include
   * them.
   */
  readonly isPart?: true;
  /**
   * The shape of its events; by default each is one record. `list`: one carries neighbouring records as a
   * JSON array. `player`: the record is its `data`, beside a time; that of a removal has only the bus name,
   * which is the key. `tracklist`: the bus name stands in front. `node`: that of a removal has only the name,
   * which is the key. `backend`: it lacks the fields that only `/health` shows.
   */
  readonly shape?: 'list' | 'player' | 'tracklist' | 'node' | 'backend';
  /**
   * How the journal keeps its records; by default the newest text of each key. `passing`: likewise, but in no
   * snapshot, and equal texts are events too, because another collection's record holds the same. `each`:
   * every text is an action of its own, whatever its key.
   */
  readonly keeps?: 'passing' | 'each';
}

/** Things of the sound server: one event carries several. */
function ofSound<E extends string>(event: E) {
  return {
    backend: 'audio',
    updated: `${event}.updated`,
    removed: `${event}.removed`,
    shape: 'list',
  } as const;
}

const COLLECTIONS = {
  /** Keyed by child, made by the gateway: its health as a `BackendRecord`. */
  backends: { updated: 'backend.updated', shape: 'backend' },
  /** One record, key '', made by the gateway: the HTTP addresses as a `ServedRecord`. */
  served: {},
  /** One record, key '': the sound server's kind as a JSON string. */
  'audio.kind': { backend: 'audio' },
  /** One record, key ''. */
  'audio.server': { backend: 'audio' },
  /** Keyed by sink index. */
  'audio.outputs': ofSound('audio.output'),
  /** Keyed by source index. */
  'audio.inputs': ofSound('audio.input'),
  /** Keyed by card index. */
  'audio.cards': ofSound('audio.card'),
  /** Keyed by sink input index. */
  'audio.clients': ofSound('audio'),
  /** One record, key ''. */
  'audio.sleep': { backend: 'audio', updated: 'audio.sleep' },
  /** Keyed by scope, slash, configured unit name; ranked by position in the whitelist. */
  'systemd.services': { backend: 'systemd', updated: 'service.updated' },
  'power.action': { backend: 'power', updated: 'power.action', keeps: 'each' },
  /** One record, key '': the whole answer to `GET /upgrade`. */
  upgrade: { backend: 'upgrade' },
  /**
   * The parts whose changes are events: keys `status` and `run`. Clients know a run by its `state`; all else
   * is a whole status to them.
   */
  'upgrade.info': { backend: 'upgrade', updated: 'upgrade.info' },
  /** One record, key '': the last check. */
  'upgrade.check': { backend: 'upgrade', updated: 'upgrade.check' },
  'upgrade.progress': { backend: 'upgrade', updated: 'upgrade.progress', keeps: 'each' },
  /** Keyed by bus name. */
  players: {
    backend: 'players',
    added: 'player.added',
    updated: 'player.updated',
    removed: 'player.removed',
    shape: 'player',
  },
  /** Keyed by bus name: a player's position that differs from the one that clients extrapolate. */
  'players.position': { backend: 'players', updated: 'player.position', shape: 'list', keeps: 'passing' },
  /** Keyed by bus name, after the player's own record: the answer to `GET` of its tracklist. */
  'players.tracklist': {
    backend: 'players',
    updated: 'player.tracklist.updated',
    shape: 'tracklist',
    isPart: true,
  },
  /** Keyed by name. */
  nodes: { backend: 'discovery', updated: 'node.updated', removed: 'node.removed', shape: 'node' },
  /** Keyed by an origin whose pages are trusted (docs/http-api.md, "The house"): the name of its node. */
  'nodes.origins': { backend: 'discovery', isPart: true },
  /** One record, key ''. */
  bluetooth: { backend: 'bluetooth', updated: 'bluetooth.updated' },
  /**
   * Keyed by address: known devices, and what a scan has found. Passing, because those of an adapter that is
   * gone go with it.
   */
  'bluetooth.devices': { backend: 'bluetooth', keeps: 'passing' },
  /**
   * Keyed by address: a device that a scan has found, or that has changed during one, as it is in
   * `bluetooth.devices`.
   */
  'bluetooth.discovered': { backend: 'bluetooth', updated: 'bluetooth.discovered', keeps: 'passing' },
  /** The record of `bluetooth` once more, for the end of something that a client waits for. */
  'bluetooth.outcome': { backend: 'bluetooth', updated: 'bluetooth.updated', keeps: 'passing' },
} as const satisfies Record<string, CollectionSpec>;

export type Collection = keyof typeof COLLECTIONS;

export const COLLECTION_NAMES = Object.keys(COLLECTIONS) as readonly Collection[];

/** The table with its entries widened to all optional fields. */
export const SPECS: Readonly<Record<Collection, CollectionSpec>> = COLLECTIONS;

export interface ResourceSpec {
  readonly backend: ChildName;
  readonly collections: readonly Collection[];
  /**
   * Undefined if a record is missing without which the answer would be wrong. `texts`: those of a
   * collection's records, by rank, then in the order in which they were first put.
   */
  join(texts: (collection: Collection) => readonly string[]): string | undefined;
}

function list(backend: ChildName, collection: Collection): ResourceSpec {
  return { backend, collections: [collection], join: (texts) => jsonArray(texts(collection)) };
}

function single(backend: ChildName, collection: Collection): ResourceSpec {
  return { backend, collections: [collection], join: (texts) => texts(collection)[0] };
}

const jsonArray = (texts: readonly string[]): string => `[${texts.join(',')}]`;

/** The sources of each GET of published state, and of each such MQTT topic. */
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
