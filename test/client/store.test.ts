// Tests how each event changes the client's state: rows, and seeded random series against the tests' own model of the state.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { NodeEvent } from '../../src/client/events.js';
import type { PlayerRecord } from '../../src/client/records.js';
import { KNOWN_EVENTS, positionOf, Store } from '../../src/client/store.js';
import { EVENTS } from '../../src/protocol/actor/collections.js';
import { StateModel } from '../consumer/state-model.js';
import { SEED, SeededRandom } from '../seeded-random.js';

const ROUNDS = 200;
const STEPS = 80;

/** The records have only the fields that a row needs, so they do not fit the client's types. */
function told(...events: readonly (readonly [type: string, data: unknown])[]): Store {
  const store = new Store(0);
  for (const [type, data] of events) store.apply({ type, data } as NodeEvent);
  return store;
}

const record = (id: number, name = `r${id}`) => ({ id, name });
const player = (position: number) => ({
  bus_name: 'org.mpris.MediaPlayer2.a',
  position,
  position_updated_at: 'then',
});

test('every event of the stream has its rule', () => {
  const known = [...KNOWN_EVENTS, 'server.info'];
  for (const type of Object.keys(EVENTS) as (keyof typeof EVENTS)[]) assert.ok(known.includes(type), type);
});

describe('an event', () => {
  test('that begins a scan forgets what the last one found', () => {
    const first = told(
      ['bluetooth.updated', { scanning: true }],
      ['bluetooth.discovered', { address: 'a', rssi: -60 }],
      ['bluetooth.discovered', { address: 'a', rssi: -50 }],
      ['bluetooth.updated', { scanning: false }],
    );
    assert.deepEqual([...first.state.discovered.values()], [{ address: 'a', rssi: -50 }]);
    first.apply({ type: 'bluetooth.updated', data: { scanning: true } } as NodeEvent);
    assert.equal(first.state.discovered.size, 0);
    assert.deepEqual(first.state.bluetooth, { scanning: true });
  });

  test('that changes a record keeps its place, and leaves unchanged records the same objects', () => {
    const store = told(['audio.output.updated', [record(1), record(2)]]);
    const { outputs, clients } = store.state;
    store.apply({ type: 'audio.output.updated', data: [record(1, 'x')] } as unknown as NodeEvent);
    assert.deepEqual([...store.state.outputs.keys()], [1, 2]);
    assert.equal(store.state.outputs.get(2), outputs.get(2));
    assert.equal(store.state.clients, clients);
    assert.deepEqual(outputs.get(1), record(1), 'what was handed out is not touched');
  });

  test('of levels replaces all of them, and a removed output takes its level along', () => {
    const level = (...ids: readonly number[]) => ({ outputs: ids.map((id) => ({ id, peak: [id / 10, 0] })) });
    const store = told(['audio.level', level(1, 2)], ['audio.level', level(2, 3)]);
    assert.deepEqual(Object.fromEntries(store.state.levels), { 2: [0.2, 0], 3: [0.3, 0] });
    store.apply({ type: 'audio.output.removed', data: [record(3)] } as unknown as NodeEvent);
    assert.deepEqual([...store.state.levels.keys()], [2]);
  });

  test('of a player without a tracklist drops its list, and so does the end of the player', () => {
    const { bus_name } = player(1);
    const updated = (tracklist_supported: boolean) =>
      ({ type: 'player.updated', data: { data: { bus_name, tracklist_supported } } }) as NodeEvent;
    const list = { type: 'player.tracklist.updated', data: { bus_name, tracks: [] } } as unknown as NodeEvent;
    const store = new Store(0);
    const counts = [];
    const gone = { type: 'player.removed', data: { bus_name } } as NodeEvent;
    for (const event of [updated(true), list, updated(true), updated(false), updated(true), list, gone]) {
      store.apply(event);
      counts.push(store.state.tracklists.size);
    }
    assert.deepEqual(counts, [0, 1, 1, 0, 0, 1, 0]);
  });

  test('of a position moves a player that is there, and no other', () => {
    const { bus_name } = player(1);
    const moved = [bus_name, 'gone'].map((name) => ({ bus_name: name, position: 2, emitted_at: 0 }));
    const store = told(['player.added', { data: player(1) }], ['player.position', moved]);
    const there = { bus_name, position: 2, position_updated_at: '1970-01-01T00:00:00.000Z' };
    assert.deepEqual([...store.state.players.values()], [there]);
  });

  test('of an upgrade adds to status, run and progress, whichever comes first', () => {
    const status = { current: '1', latest: '2', upgrade_available: true };
    const line = { event: 'progress', percent: 40, current: 2, step: 'Fetching' };
    const store = told(['upgrade.progress', line], ['upgrade.info', { state: 'running', origin: 'systemd' }]);
    assert.deepEqual(store.state.upgrade, { run: { state: 'running', origin: 'systemd' } });
    store.apply({ type: 'upgrade.info', data: { ...status, checked_at: 'now' } });
    store.apply({ type: 'upgrade.progress', data: { event: 'begin', total: 3 } });
    store.apply({ type: 'upgrade.progress', data: line as never });
    store.set({ upgrade: { ...store.state.upgrade, can_check: true, can_upgrade: false } });
    const run = { state: 'running', origin: 'systemd', percent: 40, step: 'Fetching' };
    const can = { can_check: true, can_upgrade: false };
    assert.deepEqual(store.state.upgrade, { ...status, checked_at: 'now', run, ...can });
    store.apply({ type: 'upgrade.info', data: status });
    assert.deepEqual(store.state.upgrade, { ...status, run, ...can }, 'what is left out is gone');
    store.apply({ type: 'upgrade.info', data: { check: { state: 'running' } } });
    assert.deepEqual(store.state.upgrade?.check, { state: 'running' });
    store.apply({ type: 'upgrade.info', data: { state: 'idle' } });
    const check = { state: 'running' };
    assert.deepEqual(store.state.upgrade, { ...status, run: { state: 'idle' }, check, ...can });
  });

  test('that marks a snapshot has no detail', () => {
    const { state } = told(
      ['backend.updated', { backend: 'audio', state: 'up', detail: 'snapshot' }],
      ['backend.updated', { backend: 'power', state: 'connecting', detail: 'no bus' }],
    );
    const expected = { audio: { state: 'up' }, power: { state: 'connecting', detail: 'no bus' } };
    assert.deepEqual(Object.fromEntries(state.backends), expected);
  });

  test('that begins a snapshot forgets also disabled backends, and nothing of the snapshot itself', () => {
    const { state } = told(
      ['server.info', 'connected'],
      ['backend.updated', { backend: 'systemd', state: 'up', detail: 'snapshot' }],
      ['service.updated', { scope: 'user', name: 'a.service' }],
      ['backend.updated', { backend: 'audio', state: 'up', detail: 'snapshot' }],
      ['audio.updated', [record(1)]],
      ['server.info', 'connected'],
      ['audio.removed', [record(1)]],
      ['backend.updated', { backend: 'audio', state: 'up', detail: 'snapshot' }],
      ['audio.updated', [record(2)]],
      ['backend.updated', { backend: 'power', state: 'up', detail: 'snapshot' }],
    );
    assert.deepEqual([...state.backends.keys()], ['audio', 'power']);
    assert.deepEqual([...state.clients.keys()], [2]);
    assert.equal(state.units.size, 0);
  });

  test('that marks a snapshot in the midst of a stream forgets nothing', () => {
    const mark = ['backend.updated', { backend: 'audio', state: 'up', detail: 'snapshot' }] as const;
    assert.equal(told(['audio.updated', [record(1)]], mark).state.clients.size, 1, 'before any stream');
    const { state } = told(
      ['server.info', 'connected'],
      mark,
      ['audio.updated', [record(1)]],
      ['server.info', 'love'],
      mark,
    );
    assert.equal(state.clients.size, 1, 'in the midst of one');
  });

  test('of a later version changes nothing, whatever its name', () => {
    for (const type of ['later.version', 'toString', 'constructor', '__proto__', 'hasOwnProperty']) {
      const store = told(['audio.output.updated', [record(1)]]);
      const before = store.state;
      store.apply({ type, data: { outputs: 'x' } } as unknown as NodeEvent);
      assert.equal(store.state, before, type);
    }
  });
});

describe('the position of a player is', () => {
  const at = Date.parse('2026-01-01T00:00:00.000Z');
  const playing = {
    playback_status: 'Playing',
    position: 1_000_000,
    position_updated_at: '2026-01-01T00:00:00.000Z',
  };
  const rows: readonly (readonly [string, object, number, number | undefined])[] = [
    ['extrapolated while it plays', {}, 2500, 3_500_000],
    ['by its rate', { rate: 2 }, 1000, 3_000_000],
    ['no further than the end of its track', { metadata: { 'mpris:length': '1200000' } }, 5000, 1_200_000],
    ['not before its beginning, where the clocks differ', {}, -5000, 0],
    ['constant while it is paused', { playback_status: 'Paused' }, 5000, 1_000_000],
    ['unknown where the player does not report it', { position: undefined }, 5000, undefined],
  ];
  for (const [what, fields, later, expected] of rows) {
    test(what, () =>
      assert.equal(positionOf({ ...playing, ...fields } as unknown as PlayerRecord, at + later), expected),
    );
  }
});

describe(`random series of events (TONEARM_FUZZ_SEED=${SEED})`, () => {
  const BACKENDS = ['audio', 'systemd', 'upgrade', 'players'] as const;
  type Told = readonly [type: string, data: unknown];

  const change = (random: SeededRandom): Told => {
    const some = Array.from({ length: 1 + random.below(3) }, () =>
      record(random.below(6), `n${random.below(4)}`),
    );
    return random.pick<Told>([
      ['audio.updated', some],
      ['audio.removed', some],
      ['audio.output.updated', some],
      ['audio.output.removed', some],
      ['service.updated', { scope: random.pick(['user', 'system']), name: `u${random.below(3)}.service` }],
      ['upgrade.info', { current: `${random.below(3)}`, latest: '3', upgrade_available: true }],
      ['upgrade.info', { state: random.pick(['idle', 'running', 'failed']) }],
      ['backend.updated', { backend: random.pick([...BACKENDS]), state: random.pick(['up', 'connecting']) }],
      ['server.info', 'love'],
    ]);
  };
  /** A player can be changed or removed only while it exists. */
  const playerChange = (random: SeededRandom, known: ReadonlyMap<string, unknown>): Told => {
    const bus_name = `p${random.below(3)}`;
    if (known.has(bus_name) && random.chance(0.4)) return ['player.removed', { bus_name }];
    const told = { data: { bus_name, identity: `i${random.below(3)}` }, emitted_at: 0 };
    return [known.has(bus_name) ? 'player.updated' : 'player.added', told];
  };
  /** The daemon begins a stream that cannot be resumed in this way: removals, then for each backend a mark and its records. */
  const snapshot = (random: SeededRandom): readonly Told[] => [
    ['server.info', 'connected'],
    ['audio.removed', [record(random.below(6))]],
    ...BACKENDS.flatMap((backend): Told[] => [
      ['backend.updated', { backend, state: 'up', detail: 'snapshot' }],
      ...Array.from({ length: random.below(3) }, () => change(random)).filter(([type]) =>
        OF[backend].test(type),
      ),
    ]),
  ];
  const OF = { audio: /^audio/, systemd: /^service/, upgrade: /^upgrade/, players: /^player/ } as const;

  test('lead to the state of the model, after every event and every whole snapshot', () => {
    const random = new SeededRandom(SEED);
    for (let round = 0; round < ROUNDS; round += 1) {
      const [store, model] = [new Store(0), new StateModel()];
      const one = () => (random.chance(0.2) ? playerChange(random, model.players) : change(random));
      for (let step = 0; step < STEPS; step += 1) {
        const events = step === 0 || random.chance(0.04) ? snapshot(random) : [one()];
        for (const [type, data] of events) {
          store.apply({ type, data } as NodeEvent);
          model.apply({ type, data: JSON.stringify(data) });
        }
        const { outputs, clients, units, backends, upgrade } = store.state;
        const { run, ...status } = upgrade ?? {};
        assert.deepEqual(new Map([...outputs].map(([id, each]) => [String(id), each])), model.outputs);
        assert.deepEqual(new Map([...clients].map(([id, each]) => [String(id), each])), model.clients);
        assert.deepEqual(units, model.services);
        assert.deepEqual(store.state.players, model.players);
        assert.deepEqual(new Map([...backends].map(([name, { state }]) => [name, state])), model.backends);
        assert.deepEqual([run, status], [model.upgradeRun, model.upgradeStatus ?? {}]);
      }
    }
  });
});
