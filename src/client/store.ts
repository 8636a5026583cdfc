// Decides how each event changes the known state of a node (docs/events.md, "Events"). Pure.

import type { EventData, EventName, NodeEvent } from './events.js';
import { emptySlices, type NodeState, type OwnSlices, type RecordSlices, SLICES } from './node-state.js';
import type * as records from './records.js';

const MARK_DETAIL = 'snapshot';

/** True for the event that begins a backend's part of a snapshot. */
export function isMark(event: NodeEvent): event is Extract<NodeEvent, { readonly type: 'backend.updated' }> {
  return event.type === 'backend.updated' && event.data.detail === MARK_DETAIL;
}

const idOf = ({ id }: { readonly id: number }): number => id;
const busNameOf = ({ bus_name }: { readonly bus_name: string }): string => bus_name;
const addressOf = ({ address }: { readonly address: string }): string => address;
const unitKey = ({ scope, name }: records.ServiceRecord): string => `${scope}/${name}`;

const peaksById = (levels: EventData['audio.level']['outputs']): NodeState['levels'] =>
  new Map(levels.map(({ id, peak }) => [id, peak]));

type Patch = Partial<RecordSlices>;
type Rule = (state: RecordSlices, data: unknown) => Patch;
type Rules = {
  readonly [T in Exclude<EventName, 'server.info'>]: (state: RecordSlices, data: EventData[T]) => Patch;
};

const RULES: Rules = {
  'service.updated': ({ units }, unit) => ({ units: put(units, [unit], unitKey) }),
  'audio.updated': ({ clients }, changed) => ({ clients: put(clients, changed, idOf) }),
  'audio.removed': ({ clients }, gone) => ({ clients: drop(clients, gone.map(idOf)) }),
  'audio.output.updated': ({ outputs }, changed) => ({ outputs: put(outputs, changed, idOf) }),
  'audio.output.removed': ({ outputs, levels }, gone) => ({
    outputs: drop(outputs, gone.map(idOf)),
    levels: drop(levels, gone.map(idOf)),
  }),
  'audio.input.updated': ({ inputs }, changed) => ({ inputs: put(inputs, changed, idOf) }),
  'audio.input.removed': ({ inputs, inputLevels }, gone) => ({
    inputs: drop(inputs, gone.map(idOf)),
    inputLevels: drop(inputLevels, gone.map(idOf)),
  }),
  'audio.card.updated': ({ cards }, changed) => ({ cards: put(cards, changed, idOf) }),
  'audio.card.removed': ({ cards }, gone) => ({ cards: drop(cards, gone.map(idOf)) }),
  'audio.sleep': (_state, sleep) => ({ sleep }),
  'audio.level': (_state, { outputs, inputs = [] }) => ({
    levels: peaksById(outputs),
    inputLevels: peaksById(inputs),
  }),
  'power.action': () => ({}),
  // The event has either a run, which has a `state`, or a status (docs/events.md, "Upgrade events").
  'upgrade.info': ({ upgrade }, info) => {
    return { upgrade: 'state' in info ? { ...upgrade, run: info } : upgradeWithStatus(upgrade, info) };
  },
  'upgrade.check': ({ upgrade }, check) => ({ upgrade: { ...upgrade, check } }),
  'upgrade.progress': ({ upgrade }, line) => {
    if (line.event !== 'progress' || upgrade?.run?.state !== 'running') return {};
    const { percent, step } = line;
    return { upgrade: { ...upgrade, run: { ...upgrade.run, percent, step } } };
  },
  'player.added': playerPatch,
  'player.updated': playerPatch,
  'player.removed': ({ players, tracklists }, { bus_name }) => ({
    players: drop(players, [bus_name]),
    tracklists: drop(tracklists, [bus_name]),
  }),
  'player.tracklist.updated': ({ tracklists }, { bus_name, ...tracklist }) => ({
    tracklists: new Map(tracklists).set(bus_name, tracklist),
  }),
  'node.updated': ({ nodes }, node) => ({ nodes: put(nodes, [node], ({ name }) => name) }),
  'node.removed': ({ nodes }, { name }) => ({ nodes: drop(nodes, [name]) }),
  'player.position': ({ players }, positions) => ({ players: withPositions(players, positions) }),
  // A new scan begins with no discovered devices.
  'bluetooth.updated': ({ bluetooth: before, discovered }, bluetooth) => ({
    bluetooth,
    discovered: bluetooth.scanning && !before?.scanning ? new Map() : discovered,
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
  /** True from the beginning of a stream until its first mark. */
  #awaitsFirstMark = false;

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

  /** Ignores event types that this version does not know. */
  apply(event: NodeEvent): void {
    const { type, data } = event;
    if (type === 'server.info') {
      if (data === 'connected') this.#awaitsFirstMark = true;
      return;
    }
    if (isMark(event)) {
      // The first mark of a stream empties all slices, because some backends may no longer be enabled. A
      // stream that was too slow may get a later snapshot. Each mark of that snapshot empties only the
      // slices of its backend.
      if (this.#awaitsFirstMark) this.set(emptySlices());
      else this.#empty(SLICES[event.data.backend]?.emptiedByMark);
      this.#awaitsFirstMark = false;
    }
    if (Object.hasOwn(RULES, type)) this.set((RULES[type] as Rule)(this.#state, data));
  }

  /**
   * Call this when a snapshot has ended. It empties the slices of all backends without a mark in the
   * snapshot, because these are no longer enabled.
   */
  forgetDisabled(): void {
    for (const [name, { emptiedByMark = [], others = [] }] of Object.entries(SLICES))
      if (!this.#state.backends.has(name as records.ChildName)) this.#empty([...emptiedByMark, ...others]);
  }

  #empty(slices: readonly (keyof RecordSlices)[] = []): void {
    const empty = emptySlices();
    this.set(Object.fromEntries(slices.map((slice) => [slice, empty[slice]])));
  }
}

function put<K, R>(records: ReadonlyMap<K, R>, changed: readonly R[], keyOf: (record: R) => K) {
  return new Map([...records, ...changed.map((record) => [keyOf(record), record] as const)]);
}

function drop<K, R>(records: ReadonlyMap<K, R>, keys: readonly K[]): ReadonlyMap<K, R> {
  const remaining = new Map(records);
  for (const key of keys) remaining.delete(key);
  return remaining;
}

/** No event reports that a tracklist has ended. Only the player's record shows it. */
function playerPatch({ players, tracklists }: RecordSlices, { data: player }: EventData['player.added']) {
  const hasTracklistEnded = !player.tracklist_supported && tracklists.has(player.bus_name);
  return {
    players: put(players, [player], busNameOf),
    tracklists: hasTracklistEnded ? drop(tracklists, [player.bus_name]) : tracklists,
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
