// How each event changes the client's state. Random histories of streams: gateway/events/storm.test.ts, whose
// consumers keep this state.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { NodeEvent } from '../../src/client/events.js';
import type { PlayerRecord } from '../../src/client/records.js';
import { KNOWN_EVENTS, positionOf, Store } from '../../src/client/store.js';
import { EVENTS } from '../../src/protocol/actor/collections.js';

/** The records have only the fields that a row needs, so they do not fit the client's types. */
function storeAfter(...events: readonly (readonly [type: string, data: unknown])[]): Store {
  const store = new Store(0);
  for (const [type, data] of events) store.apply({ type, data } as NodeEvent);
  return store;
}

const record = (id: number, name = `r${id}`) => ({ id, name });
const bus_name = 'org.mpris.MediaPlayer2.a';
const player = (position: number) => ({ bus_name, position, position_updated_at: 'then' });

test('every event of the stream has its rule', () => {
  const known = [...KNOWN_EVENTS, 'server.info'];
  for (const type of Object.keys(EVENTS) as (keyof typeof EVENTS)[]) assert.ok(known.includes(type), type);
});

describe('an event', () => {
  test('changes the default output only where it makes another output the default', () => {
    const both = (first: boolean) => [
      { ...record(1), default: first },
      { ...record(2), default: !first },
    ];
    const store = storeAfter(['audio.output.updated', both(true)]);
    const before = store.state.defaultOutput;
    assert.equal(before?.id, 1);
    store.apply({ type: 'audio.output.updated', data: [{ ...record(3), default: false }] } as never);
    assert.equal(store.state.defaultOutput, before);
    store.apply({ type: 'audio.output.updated', data: both(false) } as never);
    assert.equal(store.state.defaultOutput?.id, 2);
    store.apply({ type: 'audio.output.removed', data: [record(2)] } as never);
    assert.equal(store.state.defaultOutput, undefined);
  });

  test('an event that begins a scan forgets what the last one found', () => {
    const first = storeAfter(
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

  test('an event that changes a record keeps its place, and leaves unchanged records the same objects', () => {
    const store = storeAfter(['audio.output.updated', [record(1), record(2)]]);
    const { outputs, clients } = store.state;
    store.apply({ type: 'audio.output.updated', data: [record(1, 'x')] } as unknown as NodeEvent);
    assert.deepEqual([...store.state.outputs.keys()], [1, 2]);
    assert.equal(store.state.outputs.get(2), outputs.get(2));
    assert.equal(store.state.clients, clients);
    assert.deepEqual(outputs.get(1), record(1), 'what was handed out is not touched');
  });

  test('an event of levels replaces all of them, and a removed output takes its level along', () => {
    const level = (...ids: readonly number[]) => ({ outputs: ids.map((id) => ({ id, peak: [id / 10, 0] })) });
    const store = storeAfter(['audio.level', level(1, 2)], ['audio.level', level(2, 3)]);
    assert.deepEqual(Object.fromEntries(store.state.levels), { 2: [0.2, 0], 3: [0.3, 0] });
    store.apply({ type: 'audio.output.removed', data: [record(3)] } as unknown as NodeEvent);
    assert.deepEqual([...store.state.levels.keys()], [2]);
  });

  test('an event of levels has the inputs that are measured, and no others', () => {
    const inputs = [{ id: 5, peak: [0.5, 0.25] }];
    const store = storeAfter(['audio.level', { outputs: [], inputs }]);
    assert.deepEqual([...store.state.inputLevels], [[5, [0.5, 0.25]]]);
    store.apply({ type: 'audio.level', data: { outputs: [] } } as unknown as NodeEvent);
    assert.deepEqual([...store.state.inputLevels], []);
  });

  test('an event of a player without a tracklist drops its list, and so does the end of the player', () => {
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

  test('an event of a position moves a player that is there, and no other', () => {
    const moved = [bus_name, 'gone'].map((name) => ({ bus_name: name, position: 2, emitted_at: 0 }));
    const store = storeAfter(['player.added', { data: player(1) }], ['player.position', moved]);
    const there = { bus_name, position: 2, position_updated_at: '1970-01-01T00:00:00.000Z' };
    assert.deepEqual([...store.state.players.values()], [there]);
  });

  test('an event of an upgrade adds to status, run and progress, in any order', () => {
    const status = { current: '1', latest: '2', upgrade_available: true };
    const line = { event: 'progress', percent: 40, current: 2, step: 'Fetching' };
    const store = storeAfter(
      ['upgrade.progress', line],
      ['upgrade.info', { state: 'running', origin: 'systemd' }],
    );
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
    store.apply({ type: 'upgrade.check', data: { state: 'running' } });
    assert.deepEqual(store.state.upgrade?.check, { state: 'running' });
    store.apply({ type: 'upgrade.info', data: { state: 'idle' } });
    const check = { state: 'running' };
    assert.deepEqual(store.state.upgrade, { ...status, run: { state: 'idle' }, check, ...can });
  });

  test('an event that marks a snapshot has no detail', () => {
    const { state } = storeAfter(
      ['backend.updated', { backend: 'audio', state: 'up', detail: 'snapshot' }],
      ['backend.updated', { backend: 'power', state: 'connecting', detail: 'no bus' }],
    );
    const expected = { audio: { state: 'up' }, power: { state: 'connecting', detail: 'no bus' } };
    assert.deepEqual(Object.fromEntries(state.backends), expected);
  });

  test('an event that begins a snapshot forgets also disabled backends, and nothing of the snapshot itself', () => {
    const { state } = storeAfter(
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

  const ALL_KINDS = [
    ['audio.updated', [record(1)]],
    ['audio.output.updated', [record(1)]],
    ['audio.input.updated', [record(1)]],
    ['audio.card.updated', [record(1)]],
    ['service.updated', { scope: 'user', name: 'a.service' }],
    ['player.added', { data: { ...player(1), tracklist_supported: true } }],
    ['player.tracklist.updated', { bus_name, tracks: [] }],
    ['node.updated', { name: 'attic' }],
  ] as const;
  const SLICES = [
    'outputs',
    'inputs',
    'cards',
    'clients',
    'units',
    'players',
    'tracklists',
    'nodes',
  ] as const;
  const emptyIn = ({ state }: Store) => SLICES.filter((slice) => state[slice].size === 0);

  test('an event of a removal removes the record that it identifies', () => {
    const store = storeAfter(
      ...ALL_KINDS,
      ['audio.removed', [record(1, 'renamed')]],
      ['audio.output.removed', [record(1)]],
      ['audio.input.removed', [record(1)]],
      ['audio.card.removed', [record(1)]],
      ['player.removed', { bus_name }],
      ['node.removed', { name: 'attic' }],
    );
    assert.deepEqual(emptyIn(store), [
      'outputs',
      'inputs',
      'cards',
      'clients',
      'players',
      'tracklists',
      'nodes',
    ]);
  });

  for (const [backend, forgotten] of [
    ['audio', ['outputs', 'inputs', 'cards', 'clients']],
    ['systemd', ['units']],
    ['players', ['players', 'tracklists']],
    ['discovery', ['nodes']],
    ['power', []],
  ] as const) {
    test(`an event that marks a snapshot of ${backend} in the midst of a stream forgets the records of that backend`, () => {
      const mark = ['backend.updated', { backend, state: 'up', detail: 'snapshot' }] as const;
      assert.deepEqual(emptyIn(storeAfter(...ALL_KINDS, mark)), forgotten);
    });
  }

  test('an event of a later version changes nothing, under any name', () => {
    for (const type of ['later.version', 'toString', 'constructor', '__proto__', 'hasOwnProperty']) {
      const store = storeAfter(['audio.output.updated', [record(1)]]);
      const before = store.state;
      store.apply({ type, data: { outputs: 'x' } } as unknown as NodeEvent);
      assert.equal(store.state, before, type);
    }
  });
});

describe('the position of a player is', () => {
  const then = '2026-01-01T00:00:00.000Z';
  const at = Date.parse(then);
  const playing = { playback_status: 'Playing', position: 1_000_000, position_updated_at: then };
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
