// Defines what the client knows of a node, and which slices of it belong to which backend.

import type { EventData } from './events.js';
import type * as records from './records.js';

export interface BackendInfo {
  readonly state: records.BackendState;
  /** Why the backend is not up; if it is up, which part of it does not work. */
  readonly detail?: string;
}

/**
 * `connecting`: not connected yet. `live`: the stream is open, and its events keep the state current.
 * `lost`: the state is as it was last, but without levels, and the client reconnects by itself. `closed`:
 * `close` was called.
 */
export interface Connection {
  readonly status: 'connecting' | 'live' | 'lost' | 'closed';
  /** Milliseconds since the epoch, by this device's clock. */
  readonly since: number;
  /** The reason why the connection was lost, or why the last attempt failed. */
  readonly problem?: records.ProblemRecord;
}

/** If `truncated` is true, `GET` of the tracklist has more tracks. */
export type StreamedTracklist = Omit<EventData['player.tracklist.updated'], 'bus_name'>;

/**
 * Values are never modified but replaced: if a value is the same object as before, nothing in it has changed.
 */
export interface NodeState {
  readonly connection: Connection;
  /**
   * The enabled backends, and the node's bridges. While one of them is not `up`, its outputs, inputs, cards,
   * clients, players, tracklists and nodes are gone. Its other values stay as they were last.
   */
  readonly backends: ReadonlyMap<records.ChildName, BackendInfo>;
  /** By id. */
  readonly outputs: ReadonlyMap<number, records.OutputRecord>;
  readonly defaultOutput: records.OutputRecord | undefined;
  /** By id. */
  readonly inputs: ReadonlyMap<number, records.InputRecord>;
  /** By id. */
  readonly cards: ReadonlyMap<number, records.CardRecord>;
  /** By id. */
  readonly clients: ReadonlyMap<number, records.ClientRecord>;
  /** The sleep timer: whether and when the music ends. Undefined until the node has sent it. */
  readonly sleep: records.SleepRecord | undefined;
  /** By bus name. */
  readonly players: ReadonlyMap<string, records.PlayerRecord>;
  /** By bus name. Players without a tracklist are missing here. */
  readonly tracklists: ReadonlyMap<string, StreamedTracklist>;
  /** The nodes on the network, by name; empty if the node does not look for them. */
  readonly nodes: ReadonlyMap<string, records.NodeRecord>;
  /** By `scope/name`. */
  readonly units: ReadonlyMap<string, records.ServiceRecord>;
  /** The known parts: status, run, check and `can_*`; undefined while none is known. */
  readonly upgrade: Partial<records.UpgradeRecord> | undefined;
  /** The adapter and its known devices. While the backend is not up, this is the last known value. */
  readonly bluetooth: records.BluetoothRecord | undefined;
  /**
   * By address. These devices were found, or changed, during the present or the last scan. Known devices can
   * be among them.
   */
  readonly discovered: ReadonlyMap<string, records.DeviceRecord>;
  /**
   * The allowed actions. They are fetched at each snapshot and start of the backend: no event reports them.
   */
  readonly power: records.PowerRecord | undefined;
  readonly server: records.ServerRecord | undefined;
  /**
   * Peaks per channel, 0..1, by output id; empty unless `levels` is on. An output that is missing here has no
   * known level now.
   */
  readonly levels: ReadonlyMap<number, readonly number[]>;
  /**
   * Peaks per channel by input id. Only inputs that a program captures, or that are heard at an output, have
   * a level.
   */
  readonly inputLevels: ReadonlyMap<number, readonly number[]>;
}

export type Slice = keyof NodeState;

/** All slices except `defaultOutput`, which follows from `outputs`. */
export type OwnSlices = Omit<NodeState, 'defaultOutput'>;

/** The slices that become empty when a stream begins with a snapshot. */
export type RecordSlices = Omit<OwnSlices, 'connection' | 'server'>;

export function emptySlices(): RecordSlices {
  return {
    backends: new Map(),
    outputs: new Map(),
    inputs: new Map(),
    cards: new Map(),
    clients: new Map(),
    sleep: undefined,
    players: new Map(),
    tracklists: new Map(),
    nodes: new Map(),
    units: new Map(),
    upgrade: undefined,
    bluetooth: undefined,
    discovered: new Map(),
    power: undefined,
    levels: new Map(),
    inputLevels: new Map(),
  };
}

interface BackendSlices {
  /** The backend's mark empties them, because the client may have missed the removal of a record. */
  readonly emptiedByMark?: readonly (keyof RecordSlices)[];
  /** The snapshot replaces `sleep`, `upgrade` and `bluetooth`, and does not contain the others. */
  readonly others?: readonly (keyof RecordSlices)[];
}

/** `LiveNode` (connect.ts) empties `backends` when a snapshot begins. */
export const SLICES: Readonly<Partial<Record<records.ChildName, BackendSlices>>> = {
  audio: {
    emptiedByMark: ['outputs', 'inputs', 'cards', 'clients'],
    others: ['sleep', 'levels', 'inputLevels'],
  },
  systemd: { emptiedByMark: ['units'] },
  players: { emptiedByMark: ['players', 'tracklists'] },
  discovery: { emptiedByMark: ['nodes'] },
  power: { others: ['power'] },
  upgrade: { others: ['upgrade'] },
  bluetooth: { others: ['bluetooth', 'discovered'] },
};
