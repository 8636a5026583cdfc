// Two models of a consumer of the event stream. `StateModel` keeps the state of the node in the client's own
// store, collects the actions, and demands that each event is known, and possible after the events before it.
// `NameModel` is for programs that identify records by name.

import assert from 'node:assert/strict';
import type { NodeEvent } from '../../src/client/events.js';
import type { ParsedEvent } from '../../src/client/parser.js';
import { emptySlices, isMark, KNOWN_EVENTS, type NodeState, Store } from '../../src/client/store.js';

const sortedObject = (records: ReadonlyMap<unknown, unknown>): object =>
  Object.fromEntries([...records].map(([key, record]) => [String(key), record] as const).sort());

/**
 * A backend's mark empties these slices of the state, because the consumer may have missed the removal of
 * one of their records. The snapshot itself replaces a slice that is one value, such as `bluetooth`.
 */
const EMPTIED_BY_MARK: Readonly<Partial<Record<string, readonly (keyof NodeState)[]>>> = {
  audio: ['outputs', 'inputs', 'cards', 'clients'],
  systemd: ['units'],
  players: ['players', 'tracklists'],
  discovery: ['nodes'],
};

export class StateModel {
  /** The events `power.action` and `upgrade.progress`, as [type, data]. */
  readonly actions: (readonly [type: string, data: string])[] = [];
  /** The number of marks so far, from all backends. */
  marks = 0;
  readonly #store = new Store(0);
  /** True from the beginning of a stream until its first mark. */
  #awaitsFirstMark = false;

  apply({ type, data }: ParsedEvent): void {
    const event = { type, data: JSON.parse(data) } as NodeEvent;
    assert.ok(
      isPossible(this.known, event),
      `an event that is not possible in this state: ${type} ${data.slice(0, 200)}`,
    );
    if (event.type === 'server.info' && event.data === 'connected') this.#awaitsFirstMark = true;
    if (isMark(event)) {
      this.marks += 1;
      const allEmpty = emptySlices();
      const slices = EMPTIED_BY_MARK[event.data.backend] ?? [];
      const someEmpty = Object.entries(allEmpty).filter(([slice]) => slices.some((name) => name === slice));
      // A stream's first mark empties all slices, because some backends may no longer be enabled.
      this.#store.set(this.#awaitsFirstMark ? allEmpty : Object.fromEntries(someEmpty));
      this.#awaitsFirstMark = false;
    }
    const isAction = event.type === 'power.action' || event.type === 'upgrade.progress';
    if (isAction) this.actions.push([type, data]);
    // `player.position` has the position at the time of the event. A record has the position at its
    // `position_updated_at`. The two positions differ, although each is right. Tests compare the players
    // with the records of `GET /players`, so `player.position` is not applied.
    const isApplied = !isAction && event.type !== 'player.position';
    if (isApplied) this.#store.apply(event);
  }

  /** The node as the events so far describe it. */
  get known(): NodeState {
    return this.#store.state;
  }

  /** The part of the state that tests compare with the true state, as plain data in a fixed order. */
  state(): object {
    const { backends, outputs, cards, clients, units, players, upgrade } = this.known;
    const states = new Map([...backends].map(([name, { state }]) => [name, state]));
    const collections = { backends: states, outputs, cards, clients, units, players };
    const plain = Object.entries(collections).map(([name, records]) => [name, sortedObject(records)]);
    return { ...Object.fromEntries(plain), upgrade };
  }
}

/**
 * True for an event that docs/events.md allows in this state. For example, an event that changes a player
 * comes only after the event that adds the player. A slow reader gets both events in this order, too.
 */
function isPossible({ players, nodes }: NodeState, { type, data }: NodeEvent): boolean {
  switch (type) {
    case 'server.info':
      return ['connected', 'love', 'bye'].includes(data);
    case 'player.added':
    case 'player.updated': {
      assert.ok(Number.isInteger(data.emitted_at), 'emitted_at is a time');
      const isKnown = players.has(data.data.bus_name);
      return type === 'player.added' ? !isKnown : isKnown;
    }
    case 'player.removed':
    case 'player.tracklist.updated':
      return players.has(data.bus_name);
    case 'player.position':
      return data.every(({ bus_name }) => players.has(bus_name));
    case 'node.removed':
      return nodes.has(data.name);
    default:
      return KNOWN_EVENTS.includes(type);
  }
}

type Named = Readonly<Record<string, unknown>>;

/**
 * For each event with records that `NameModel` keeps: the collection that the event changes, and whether the
 * event removes records.
 */
const RULES: Readonly<Record<string, readonly [collection: 'clients' | 'outputs', isRemoval: boolean]>> = {
  'audio.updated': ['clients', false],
  'audio.removed': ['clients', true],
  'audio.output.updated': ['outputs', false],
  'audio.output.removed': ['outputs', true],
};

/**
 * The state of a consumer that identifies clients and outputs by name, as existing programs do
 * (docs/http-api.md, "Names of clients"): an update sets the record of a name, a removal deletes the record,
 * and the ids do not matter.
 */
export class NameModel {
  readonly #readsMarks: boolean;
  readonly #collections = { clients: new Map<string, Named>(), outputs: new Map<string, Named>() };

  /** `readsMarks` is false for older programs, which ignore marks. */
  constructor(readsMarks = true) {
    this.#readsMarks = readsMarks;
  }

  apply({ type, data }: ParsedEvent): void {
    const [collection, isRemoval] = RULES[type] ?? [];
    if (collection !== undefined) {
      for (const record of JSON.parse(data) as readonly Named[]) {
        const name = String(record['name']);
        if (isRemoval) this.#collections[collection].delete(name);
        else this.#collections[collection].set(name, record);
      }
    } else if (type === 'backend.updated' && this.#readsMarks) {
      const { backend, detail } = JSON.parse(data) as Named;
      if (backend === 'audio' && detail === 'snapshot') this.clear();
    }
  }

  clear(): void {
    for (const records of Object.values(this.#collections)) records.clear();
  }

  /** Plain data in a fixed order, for comparison with the true state. */
  state(): object {
    return Object.fromEntries(
      Object.entries(this.#collections).map(([name, records]) => [name, sortedObject(records)]),
    );
  }
}
