// Defines the state that the client keeps of a node. Decides how each event changes this state
// (docs/events.md, "Events"), and which position a player has reached in its track. Pure.

import type { EventData, EventName, NodeEvent } from './events.js';
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
 * A change makes a new object, and never modifies an old one. If a value is the same object as before,
 * nothing in it has changed.
 */
export interface NodeState {
  readonly connection: Connection;
  /**
   * The enabled backends and bridges. While one of them is not `up`, its outputs, inputs, cards, clients,
   * players, tracklists and nodes are gone. Its other values stay as they were last.
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
   * By address. These devices were found, or changed, during the present or the last scan. Devices of
   * `bluetooth.known_devices` can be among them. A known device that the node forgets is removed here.
   */
  readonly discovered: ReadonlyMap<string, records.DeviceRecord>;
  /**
   * The allowed actions. No event reports them, so they are fetched at each snapshot, and at each start of
   * the backend `power`.
   */
  readonly power: records.PowerRecord | undefined;
  /** The node and its software. No event reports them, so they are fetched at each connection. */
  readonly server: records.ServerRecord | undefined;
  /**
   * Peaks per channel, 0..1, by output id; empty while levels are off (`Live.setLevels`). An output that is
   * missing here has no known level now.
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
type OwnSlices = Omit<NodeState, 'defaultOutput'>;

/** The slices that become empty when a snapshot begins. `LiveNode` (connect.ts) empties them. */
type RecordSlices = Omit<OwnSlices, 'connection' | 'server'>;

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

const MARK_DETAIL = 'snapshot';

/** True for the event that begins a backend's part of a snapshot. */
export function isMark(event: NodeEvent): event is Extract<NodeEvent, { readonly type: 'backend.updated' }> {
  return event.type === 'backend.updated' && event.data.detail === MARK_DETAIL;
}

const idOf = ({ id }: { readonly id: number }): number => id;
const busNameOf = ({ bus_name }: { readonly bus_name: string }): string => bus_name;
const nameOf = ({ name }: { readonly name: string }): string => name;
const addressOf = ({ address }: { readonly address: string }): string => address;
const unitKey = ({ scope, name }: records.ServiceRecord): string => `${scope}/${name}`;

const peaksById = (levels: EventData['audio.level']['outputs']): NodeState['levels'] =>
  new Map(levels.map(({ id, peak }) => [id, peak]));

type Patch = Partial<RecordSlices>;
/** TypeScript does not know that an event's data fit the rule for the event's type. */
type UntypedRule = (state: RecordSlices, data: unknown) => Patch;
type Rules = {
  readonly [T in Exclude<EventName, 'server.info'>]: (state: RecordSlices, data: EventData[T]) => Patch;
};

const RULES: Rules = {
  'service.updated': ({ units }, unit) => ({ units: put(units, [unit], unitKey) }),
  // The events `audio.updated` and `audio.removed` are about clients, which are streams of sound.
  'audio.updated': ({ clients }, changed) => ({ clients: put(clients, changed, idOf) }),
  'audio.removed': ({ clients }, gone) => ({ clients: drop(clients, gone, idOf) }),
  'audio.output.updated': ({ outputs }, changed) => ({ outputs: put(outputs, changed, idOf) }),
  'audio.output.removed': ({ outputs, levels }, gone) => ({
    outputs: drop(outputs, gone, idOf),
    levels: drop(levels, gone, idOf),
  }),
  'audio.input.updated': ({ inputs }, changed) => ({ inputs: put(inputs, changed, idOf) }),
  'audio.input.removed': ({ inputs, inputLevels }, gone) => ({
    inputs: drop(inputs, gone, idOf),
    inputLevels: drop(inputLevels, gone, idOf),
  }),
  'audio.card.updated': ({ cards }, changed) => ({ cards: put(cards, changed, idOf) }),
  'audio.card.removed': ({ cards }, gone) => ({ cards: drop(cards, gone, idOf) }),
  'audio.sleep': (_state, sleep) => ({ sleep }),
  'audio.level': (_state, { outputs, inputs = [] }) => ({
    levels: peaksById(outputs),
    inputLevels: peaksById(inputs),
  }),
  'power.action': () => ({}),
  // `info` is either a run, which has a `state`, or a status, which has none (docs/events.md, "Upgrade
  // events").
  'upgrade.info': ({ upgrade }, info) => {
    return { upgrade: 'state' in info ? { ...upgrade, run: info } : upgradeWithStatus(upgrade, info) };
  },
  'upgrade.check': ({ upgrade }, check) => ({ upgrade: { ...upgrade, check } }),
  'upgrade.progress': ({ upgrade }, line) => {
    if (line.event !== 'progress' || upgrade?.run?.state !== 'running') return {};
    const { step } = line;
    // A script writes the line, so the percentage may be out of range (docs/upgrades.md, "Progress").
    const percent = Math.min(100, Math.max(0, line.percent));
    return { upgrade: { ...upgrade, run: { ...upgrade.run, percent, step } } };
  },
  'player.added': playerPatch,
  'player.updated': playerPatch,
  'player.removed': ({ players, tracklists }, gone) => ({
    players: drop(players, [gone], busNameOf),
    tracklists: drop(tracklists, [gone], busNameOf),
  }),
  'player.tracklist.updated': ({ tracklists }, { bus_name, ...tracklist }) => ({
    tracklists: new Map(tracklists).set(bus_name, tracklist),
  }),
  'node.updated': ({ nodes }, node) => ({ nodes: put(nodes, [node], nameOf) }),
  'node.removed': ({ nodes }, gone) => ({ nodes: drop(nodes, [gone], nameOf) }),
  'player.position': ({ players }, positions) => ({ players: withPositions(players, positions) }),
  // A new scan begins with no discovered devices. Each other `bluetooth.updated` may mean that the node has
  // forgotten a device. So all devices of the previous `known_devices` are removed from the discovered
  // devices. If the scan finds one of them once more, `bluetooth.discovered` adds it again.
  'bluetooth.updated': ({ bluetooth: before, discovered }, bluetooth) => ({
    bluetooth,
    discovered:
      bluetooth.scanning && !before?.scanning
        ? new Map()
        : drop(discovered, before?.known_devices ?? [], addressOf),
  }),
  'bluetooth.discovered': ({ discovered }, device) => ({ discovered: put(discovered, [device], addressOf) }),
  'backend.updated': ({ backends }, { backend, state, detail }) => ({
    backends: new Map(backends).set(backend, {
      state,
      ...(detail !== undefined && detail !== MARK_DETAIL && { detail }),
    }),
  }),
};

/** All events except `server.info`. */
export const KNOWN_EVENTS = Object.keys(RULES) as readonly (keyof Rules)[];

export class Store {
  #state: NodeState;

  constructor(since: number) {
    this.#state = {
      ...emptySlices(),
      connection: { status: 'connecting', since },
      server: undefined,
      defaultOutput: undefined,
    };
  }

  get state(): NodeState {
    return this.#state;
  }

  set(changes: Partial<OwnSlices>): void {
    const { outputs } = changes;
    const defaultOutput = outputs
      ? [...outputs.values()].find((output) => output.default)
      : this.#state.defaultOutput;
    this.#state = { ...this.#state, ...changes, defaultOutput };
  }

  /** Ignores `server.info`, and event types that this version does not know. */
  apply({ type, data }: NodeEvent): void {
    if (type !== 'server.info' && Object.hasOwn(RULES, type))
      this.set((RULES[type] as UntypedRule)(this.#state, data));
  }
}

/**
 * A player's position in microseconds; undefined if the player does not report one. `now` is in milliseconds
 * since the epoch by the node's clock (`Live.nodeTime`). This device's clock may differ by years.
 */
export function positionOf(player: records.PlayerRecord, now: number): number | undefined {
  const { position, position_updated_at: updatedAt, playback_status: status, rate = 1, metadata } = player;
  if (position === undefined || status !== 'Playing') return position;
  const positionNow = position + (now - Date.parse(updatedAt)) * 1000 * rate;
  // A length that is missing or 0 limits nothing.
  const length = Number(metadata?.['mpris:length']) || positionNow;
  return Math.max(0, Math.min(length, positionNow));
}

function put<K, R>(before: ReadonlyMap<K, R>, changed: readonly R[], keyOf: (record: R) => K) {
  return new Map([...before, ...changed.map((record) => [keyOf(record), record] as const)]);
}

/** Returns `before` itself if it has none of the gone records. */
function drop<K, R, G>(before: ReadonlyMap<K, R>, gone: readonly G[], keyOf: (record: G) => K) {
  const remaining = new Map(before);
  for (const record of gone) remaining.delete(keyOf(record));
  return remaining.size < before.size ? remaining : before;
}

/**
 * The event's data have the player's record in a member `data`. The end of a tracklist has no event of its
 * own: it is reported only by `tracklist_supported: false` in this record.
 */
function playerPatch({ players, tracklists }: RecordSlices, { data: player }: EventData['player.added']) {
  return {
    players: put(players, [player], busNameOf),
    tracklists: player.tracklist_supported ? tracklists : drop(tracklists, [player], busNameOf),
  };
}

/** Positions of unknown players are left out. */
function withPositions(players: NodeState['players'], positions: readonly records.PlayerPosition[]) {
  const moved = new Map(players);
  for (const { bus_name, position, emitted_at } of positions) {
    const player = players.get(bus_name);
    if (player)
      moved.set(bus_name, { ...player, position, position_updated_at: new Date(emitted_at).toISOString() });
  }
  return moved;
}

/**
 * Takes `checked_at` and `extra` only from the event. If the event lacks one of them, the older value is
 * outdated: the node's status has no such member now, or its `extra` is too long for the event
 * (docs/events.md, "Long lines").
 */
function upgradeWithStatus(
  upgrade: NodeState['upgrade'],
  status: records.UpgradeStatus,
): NodeState['upgrade'] {
  const { checked_at: _, extra: __, ...others } = upgrade ?? {};
  return { ...others, ...status };
}
