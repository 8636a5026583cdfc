// Rebuilds the node's state from events alone by the documented rules, and uses nothing that a client may not use.

import assert from 'node:assert/strict';

export interface StreamedEvent {
  readonly type: string;
  readonly data: string;
}

type Json = Readonly<Record<string, unknown>>;

/** The records of one collection: identity -> record. */
type Collection = Map<string, Json>;

export class StateModel {
  readonly outputs: Collection = new Map();
  readonly cards: Collection = new Map();
  readonly clients: Collection = new Map();
  readonly services: Collection = new Map();
  readonly players: Collection = new Map();
  readonly tracklists: Collection = new Map();
  readonly nodes: Collection = new Map();
  bluetooth: Json | undefined;
  readonly backends = new Map<string, string>();
  /** The status without `run` and `can_*`. */
  upgradeStatus: Json | undefined;
  upgradeRun: Json | undefined;
  /** Set only where there is a check unit. */
  upgradeCheck: Json | undefined;
  /** `power.action` and `upgrade.progress`, as [type, data]. */
  readonly actions: (readonly [type: string, data: string])[] = [];
  /** The last peaks by output. They are not part of the state, because no snapshot contains them. */
  levels: ReadonlyMap<number, readonly number[]> = new Map();
  /** The number of times that a backend's part of a snapshot has begun. */
  snapshots = 0;

  readonly #rules: Readonly<Record<string, (data: unknown) => void>> = {
    'server.info': (data) => assert.ok(['connected', 'love', 'bye'].includes(String(data))),
    'audio.updated': (data) => put(this.clients, list(data), byId),
    'audio.removed': (data) => drop(this.clients, list(data), byId),
    'audio.output.updated': (data) => put(this.outputs, list(data), byId),
    'audio.output.removed': (data) => drop(this.outputs, list(data), byId),
    'audio.card.updated': (data) => put(this.cards, list(data), byId),
    'audio.card.removed': (data) => drop(this.cards, list(data), byId),
    'audio.level': (data) => this.#level(object(data)),
    'service.updated': (data) => put(this.services, [object(data)], byScopeAndName),
    'upgrade.info': (data) => this.#upgrade(object(data)),
    'player.added': (data) => this.#player(object(data), false),
    'player.updated': (data) => this.#player(object(data), true),
    'player.removed': (data) => {
      this.tracklists.delete(String(object(data)['bus_name']));
      assert.ok(this.players.delete(String(object(data)['bus_name'])));
    },
    'player.tracklist.updated': (data) => {
      const { bus_name, ...tracklist } = object(data);
      assert.ok(this.players.has(String(bus_name)));
      this.tracklists.set(String(bus_name), tracklist);
    },
    'node.updated': (data) => put(this.nodes, [object(data)], ({ name }) => String(name)),
    'node.removed': (data) => assert.ok(this.nodes.delete(String(object(data)['name']))),
    'bluetooth.updated': (data) => {
      this.bluetooth = object(data);
    },
    // Devices that a scan finds are part of no state.
    'bluetooth.discovered': (data) => assert.ok(typeof object(data)['address'] === 'string'),
    'player.position': (data) =>
      assert.ok(list(data).every((each) => this.players.has(String(object(each)['bus_name'])))),
    'backend.updated': (data) => this.#backend(object(data)),
  };

  apply({ type, data }: StreamedEvent): void {
    if (type === 'power.action' || type === 'upgrade.progress') {
      this.actions.push([type, data]);
      return;
    }
    const rule = this.#rules[type];
    assert.ok(rule, `an event that docs/events.md does not know: ${type}`);
    rule(JSON.parse(data));
  }

  /** Plain data in a fixed order, for comparison with the true state. */
  state(): Json {
    return {
      outputs: sorted(this.outputs),
      cards: sorted(this.cards),
      clients: sorted(this.clients),
      services: sorted(this.services),
      players: sorted(this.players),
      backends: Object.fromEntries([...this.backends].sort()),
      upgradeStatus: this.upgradeStatus,
      upgradeRun: this.upgradeRun,
    };
  }

  #level({ outputs }: Json): void {
    this.levels = new Map(
      list(outputs).map(({ id, peak }) => {
        assert.ok(Array.isArray(peak), 'a list of peaks');
        return [Number(id), peak.map(Number)];
      }),
    );
  }

  #upgrade(info: Json): void {
    if ('check' in info) this.upgradeCheck = object(info['check']);
    else if ('state' in info) this.upgradeRun = info;
    else this.upgradeStatus = info;
  }

  /** A new player must arrive as `player.added`, even for a slow reader. */
  #player({ data, emitted_at: at }: Json, isKnown: boolean): void {
    const record = object(data);
    const name = String(record['bus_name']);
    assert.ok(Number.isInteger(at));
    assert.equal(
      this.players.has(name),
      isKnown,
      `${name} is ${isKnown ? 'not known yet' : 'known already'}`,
    );
    this.players.set(name, record);
  }

  #backend({ backend, state, detail }: Json): void {
    this.backends.set(String(backend), String(state));
    if (detail !== 'snapshot') return;
    this.snapshots += 1;
    if (backend === 'audio') {
      this.outputs.clear();
      this.cards.clear();
      this.clients.clear();
    }
    if (backend === 'systemd') this.services.clear();
    if (backend === 'discovery') this.nodes.clear();
    if (backend === 'bluetooth') this.bluetooth = undefined;
    if (backend === 'players') {
      this.players.clear();
      this.tracklists.clear();
    }
    if (backend === 'upgrade') {
      this.upgradeStatus = undefined;
      this.upgradeCheck = undefined;
      this.upgradeRun = undefined;
    }
  }
}

function byId({ id }: Json): string {
  return String(id);
}

function byScopeAndName({ scope, name }: Json): string {
  return `${String(scope)}/${String(name)}`;
}

function put(collection: Collection, records: readonly Json[], identity: (record: Json) => string): void {
  for (const record of records) collection.set(identity(record), record);
}

function drop(collection: Collection, records: readonly Json[], identity: (record: Json) => string): void {
  for (const record of records) collection.delete(identity(record));
}

function list(data: unknown): readonly Json[] {
  assert.ok(Array.isArray(data), 'a list');
  return data.map(object);
}

function object(data: unknown): Json {
  assert.ok(typeof data === 'object' && data !== null && !Array.isArray(data), 'an object');
  return Object.fromEntries(Object.entries(data));
}

function sorted(collection: Collection): readonly Json[] {
  return [...collection].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, record]) => record);
}
