// The records that children publish, as a table: whose they are and which events their changes make. The journal, the event stream and
// the bridges are driven by it; nothing else knows which collection makes which event.

import type { Backend } from './backends.js';

/** Every event of the stream (docs/events.md, "Events"), and what the OpenAPI document calls the schema of its data. */
export const EVENTS = {
  'server.info': 'ServerInfo',
  'service.updated': 'Service',
  'audio.updated': 'Clients',
  'audio.removed': 'Clients',
  'audio.output.updated': 'Outputs',
  'audio.output.removed': 'Outputs',
  'audio.level': 'AudioLevel',
  'power.action': 'PowerAction',
  'upgrade.info': 'UpgradeInfo',
  'upgrade.progress': 'UpgradeProgress',
  'player.added': 'PlayerEvent',
  'player.updated': 'PlayerEvent',
  'player.removed': 'PlayerRemoval',
  'player.position': 'PlayerPositions',
  'backend.updated': 'BackendUpdate',
} as const;

export type EventType = keyof typeof EVENTS;

/** An event with the newest reading of the meters: only streams whose `types` names it get it, without id, and it is never kept. */
export const LEVEL_EVENT = 'audio.level' satisfies EventType;
export const LEVEL_BACKEND = 'audio' satisfies Backend;

/**
 * `list`: one event carries neighbouring records as a JSON array. `each`: one event per record. `player`: one per record, which carries it
 * as `data` beside the time; that of a removal names only the bus name, which is the key. `backend`: one per record, without what only
 * `/health` shows.
 */
export type EventShape = 'list' | 'each' | 'player' | 'backend';

/**
 * What the journal keeps. `newest`: the newest text of each key. `passing`: likewise, but it is part of no snapshot, and equal texts
 * are events, too, because another collection's record tells the same. `each`: every text is an action of its own, whatever its key.
 */
export type Keeping = 'newest' | 'passing' | 'each';

export interface CollectionSpec {
  /** Absent: of the node itself, or as many as there are children. */
  readonly backend?: Backend;
  /** The event of a new record, where it has one of its own. */
  readonly added?: EventType;
  /** The event of a changed or new record; absent: changes of this collection are not events. */
  readonly updated?: EventType;
  /** The event of a removed record; absent: records of this collection never end while it is whole. */
  readonly removed?: EventType;
  /** Of its events; default `each`. */
  readonly shape?: EventShape;
  /** Default `newest`. */
  readonly keeps?: Keeping;
}

const COLLECTIONS = {
  /** Keyed by child, made by the gateway: its health as a `BackendRecord`. */
  backends: { updated: 'backend.updated', shape: 'backend' },
  /** One record, key '', made by the gateway: where HTTP is served, as a `ServedRecord`. */
  served: {},
  /** One record, key '': the sound server's kind as a JSON string. */
  'audio.kind': { backend: 'audio' },
  /** One record, key ''. */
  'audio.server': { backend: 'audio' },
  /** Keyed by sink index. */
  'audio.outputs': {
    backend: 'audio',
    updated: 'audio.output.updated',
    removed: 'audio.output.removed',
    shape: 'list',
  },
  /** Keyed by sink input index. */
  'audio.clients': { backend: 'audio', updated: 'audio.updated', removed: 'audio.removed', shape: 'list' },
  /** Keyed by scope, slash, configured unit name; its rank is the whitelist's. */
  'systemd.services': { backend: 'systemd', updated: 'service.updated' },
  'power.action': { backend: 'power', updated: 'power.action', keeps: 'each' },
  /** One record, key '': the whole answer to `GET /upgrade`. */
  upgrade: { backend: 'upgrade' },
  /** Those of its parts whose changes are events: key `status`, `run`, `check`. */
  'upgrade.info': { backend: 'upgrade', updated: 'upgrade.info' },
  'upgrade.progress': { backend: 'upgrade', updated: 'upgrade.progress', keeps: 'each' },
  /** Keyed by bus name. */
  players: {
    backend: 'players',
    added: 'player.added',
    updated: 'player.updated',
    removed: 'player.removed',
    shape: 'player',
  },
  /** Keyed by bus name: where a player is now that its position is not where clients reckon it. */
  'players.position': { backend: 'players', updated: 'player.position', shape: 'list', keeps: 'passing' },
} as const satisfies Record<string, CollectionSpec>;

export type Collection = keyof typeof COLLECTIONS;

export const COLLECTION_NAMES = Object.keys(COLLECTIONS) as readonly Collection[];

/** The table with its entries widened to what any of them may have. */
export const SPECS: Readonly<Record<Collection, CollectionSpec>> = COLLECTIONS;
