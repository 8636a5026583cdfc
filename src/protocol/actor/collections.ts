// The records that actors publish, as a table: whose they are and which events their changes make.
// The mirror, the event hub and the snapshot are driven by it; nothing else knows which collection makes which event.

import type { Backend } from './backends.js';

/** Every event of the stream (contract, section 5), and what the OpenAPI document calls the schema of its data. */
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

/**
 * `list`: one event carries all records of a batch as a JSON array. `each`: one event per record. `player`: one per record, which
 * carries it as `data` beside the time; that of a removal names only the bus name, which is the key.
 */
export type EventShape = 'list' | 'each' | 'player';

export interface CollectionSpec {
  readonly backend: Backend;
  /** The event of a new record, where it has one of its own. */
  readonly added?: EventType;
  /** The event of a changed or new record; absent: changes of this collection are not events. */
  readonly updated?: EventType;
  /** The event of a removed record; absent: records of this collection never end while it is whole. */
  readonly removed?: EventType;
  readonly shape?: EventShape;
  /** Told and not kept: another collection's record says the same, so it is part of no snapshot, and equal texts are told again. */
  readonly isPassing?: true;
}

export const COLLECTIONS = {
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
  'systemd.services': { backend: 'systemd', updated: 'service.updated', shape: 'each' },
  /** One record, key '': the status without run, can_check, can_upgrade. */
  'upgrade.status': { backend: 'upgrade', updated: 'upgrade.info', shape: 'each' },
  /** One record, key '': the run without percent and step. */
  'upgrade.run': { backend: 'upgrade', updated: 'upgrade.info', shape: 'each' },
  /** One record, key '': percent and step of the run, as far as it has any. */
  'upgrade.step': { backend: 'upgrade' },
  /** One record, key '': can_check and can_upgrade. */
  'upgrade.abilities': { backend: 'upgrade' },
  /** Keyed by bus name. */
  players: {
    backend: 'players',
    added: 'player.added',
    updated: 'player.updated',
    removed: 'player.removed',
    shape: 'player',
  },
  /** Keyed by bus name: where a player is now that its position is not where clients reckon it. */
  'players.position': { backend: 'players', updated: 'player.position', shape: 'list', isPassing: true },
} as const satisfies Record<string, CollectionSpec>;

export type Collection = keyof typeof COLLECTIONS;

/** Events that are not the change of a record, and whose they are: they are never conflated, and keep their order. */
export const ACTIONS = {
  'power.action': 'power',
  'upgrade.progress': 'upgrade',
} as const satisfies Partial<Record<EventType, Backend>>;

export type ActionEvent = keyof typeof ACTIONS;

/**
 * Events that are a reading of what never stands still, and whose they are: only streams whose `types` names them are told, without
 * id, the newest reading only; none is kept (contract, section 5). A backend takes readings while somebody listens.
 */
export const GAUGES = { 'audio.level': 'audio' } as const satisfies Partial<Record<EventType, Backend>>;

export type GaugeEvent = keyof typeof GAUGES;

/** Every event that is not the change of a record. */
export const PASSING = { ...ACTIONS, ...GAUGES } as const;

export type PassingEvent = keyof typeof PASSING;
