// Tests how each event changes the state in the client's store. gateway/events/storm.test.ts tests the same
// store with random histories of streams.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { NodeEvent } from '../../src/client/events.js';
import type { PlayerRecord } from '../../src/client/records.js';
import { KNOWN_EVENTS, positionOf, Store } from '../../src/client/store.js';
import { EVENTS } from '../../src/protocol/actor/collections.js';

/** The data have only the fields that a test needs, so they do not fit the client's types. */
const eventOf = (type: string, data: unknown): NodeEvent => ({ type, data }) as NodeEvent;

function storeAfter(...events: readonly (readonly [type: string, data: unknown])[]): Store {
  const store = new Store(0);
  for (const [type, data] of events) store.apply(eventOf(type, data));
  return store;
}

const record = (id: number, name = `r${id}`) => ({ id, name });
const bus_name = 'org.mpris.MediaPlayer2.a';
const player = (position: number) => ({ bus_name, position, position_updated_at: 'then' });

test('the store has a rule for every event of the stream except server.info', () => {
  // client/connect.ts handles `server.info`.
  const known = [...KNOWN_EVENTS, 'server.info'];
  for (const type of Object.keys(EVENTS) as (keyof typeof EVENTS)[]) assert.ok(known.includes(type), type);
});

describe('an event', () => {
  test('an event changes the default output if it makes another output the default or removes the default output, but not if it only adds an output', () => {
    const outputsWithDefault = (defaultId: number) =>
      [1, 2].map((id) => ({ ...record(id), default: id === defaultId }));
    const store = storeAfter(['audio.output.updated', outputsWithDefault(1)]);
    const before = store.state.defaultOutput;
    assert.equal(before?.id, 1);

    store.apply(eventOf('audio.output.updated', [{ ...record(3), default: false }]));
    assert.equal(store.state.defaultOutput, before);
    store.apply(eventOf('audio.output.updated', outputsWithDefault(2)));
    assert.equal(store.state.defaultOutput?.id, 2);
    store.apply(eventOf('audio.output.removed', [record(2)]));
    assert.equal(store.state.defaultOutput, undefined);
  });

  test('an event that begins a scan removes the devices that the previous scan has found', () => {
    const store = storeAfter(
      ['bluetooth.updated', { scanning: true }],
      ['bluetooth.discovered', { address: 'a', rssi: -60 }],
      ['bluetooth.discovered', { address: 'a', rssi: -50 }],
      ['bluetooth.updated', { scanning: false }],
    );
    assert.deepEqual([...store.state.discovered.values()], [{ address: 'a', rssi: -50 }]);
    store.apply(eventOf('bluetooth.updated', { scanning: true }));
    assert.equal(store.state.discovered.size, 0);
    assert.deepEqual(store.state.bluetooth, { scanning: true });
  });

  test('an event that removes a device from the known devices removes the device from the discovered devices, too', () => {
    const store = storeAfter(
      ['bluetooth.updated', { scanning: true }],
      ['bluetooth.discovered', { address: 'a' }],
      ['bluetooth.discovered', { address: 'b' }],
      ['bluetooth.updated', { scanning: false, known_devices: [{ address: 'a' }] }],
      ['bluetooth.updated', { scanning: false, known_devices: [] }],
    );
    assert.deepEqual([...store.state.discovered.keys()], ['b']);
  });

  test('an event that changes nothing in a slice of the state keeps the object of this slice', () => {
    const store = storeAfter(
      ['audio.output.updated', [record(1), record(2)]],
      ['audio.level', { outputs: [{ id: 2, peak: [0.5] }] }],
      ['bluetooth.updated', { scanning: true }],
      ['bluetooth.discovered', { address: 'a' }],
      ['bluetooth.updated', { scanning: false, known_devices: [{ address: 'b' }] }],
    );
    // These events are about an undiscovered device, an output without level, and a player without tracklist.
    const { levels, discovered, tracklists } = store.state;
    store.apply(eventOf('bluetooth.updated', { scanning: false, known_devices: [] }));
    store.apply(eventOf('audio.output.removed', [record(1)]));
    store.apply(eventOf('player.updated', { data: player(1) }));
    assert.equal(store.state.discovered, discovered);
    assert.equal(store.state.levels, levels);
    assert.equal(store.state.tracklists, tracklists);
  });

  test('an event that changes a record keeps the order of the records, and the objects of all other records', () => {
    const store = storeAfter(['audio.output.updated', [record(1), record(2)]]);
    const { outputs, clients } = store.state;
    store.apply(eventOf('audio.output.updated', [record(1, 'x')]));
    assert.deepEqual([...store.state.outputs.keys()], [1, 2]);
    assert.equal(store.state.outputs.get(2), outputs.get(2));
    assert.equal(store.state.clients, clients);
    assert.deepEqual(outputs.get(1), record(1), 'the state before the event is not modified');
  });

  test('an event of levels replaces the levels of all outputs, and the removal of an output removes its level', () => {
    const levelsOf = (...ids: readonly number[]) => ({
      outputs: ids.map((id) => ({ id, peak: [id / 10, 0] })),
    });
    const store = storeAfter(['audio.level', levelsOf(1, 2)], ['audio.level', levelsOf(2, 3)]);
    assert.deepEqual(Object.fromEntries(store.state.levels), { 2: [0.2, 0], 3: [0.3, 0] });
    store.apply(eventOf('audio.output.removed', [record(3)]));
    assert.deepEqual([...store.state.levels.keys()], [2]);
  });

  test('an event of levels replaces the levels of all inputs, and the removal of an input removes its level', () => {
    const inputs = [{ id: 5, peak: [0.5, 0.25] }];
    const storeWithoutInput = storeAfter(
      ['audio.level', { outputs: [], inputs }],
      ['audio.input.removed', [record(5)]],
    );
    assert.equal(storeWithoutInput.state.inputLevels.size, 0);
    const store = storeAfter(['audio.level', { outputs: [], inputs }]);
    assert.deepEqual([...store.state.inputLevels], [[5, [0.5, 0.25]]]);
    store.apply(eventOf('audio.level', { outputs: [] }));
    assert.deepEqual([...store.state.inputLevels], []);
  });

  test('an event that removes a player, or reports that the player supports no tracklist, removes the tracklist of the player', () => {
    const playerUpdated = (tracklist_supported: boolean) =>
      eventOf('player.updated', { data: { bus_name, tracklist_supported } });
    const tracklistUpdated = eventOf('player.tracklist.updated', { bus_name, tracks: [] });
    const playerRemoved = eventOf('player.removed', { bus_name });
    const steps: readonly { readonly event: NodeEvent; readonly tracklistCount: number }[] = [
      { event: playerUpdated(true), tracklistCount: 0 },
      { event: tracklistUpdated, tracklistCount: 1 },
      { event: playerUpdated(true), tracklistCount: 1 },
      { event: playerUpdated(false), tracklistCount: 0 },
      { event: playerUpdated(true), tracklistCount: 0 },
      { event: tracklistUpdated, tracklistCount: 1 },
      { event: playerRemoved, tracklistCount: 0 },
    ];

    const store = new Store(0);
    for (const { event, tracklistCount } of steps) {
      store.apply(event);
      assert.equal(store.state.tracklists.size, tracklistCount, `after ${JSON.stringify(event)}`);
    }
  });

  test('an event of positions changes a known player, and adds no unknown player', () => {
    const positions = [bus_name, 'gone'].map((name) => ({ bus_name: name, position: 2, emitted_at: 0 }));
    const store = storeAfter(['player.added', { data: player(1) }], ['player.position', positions]);
    const expected = { bus_name, position: 2, position_updated_at: '1970-01-01T00:00:00.000Z' };
    assert.deepEqual([...store.state.players.values()], [expected]);
  });

  test('a run has a percentage from 0 to 100, even if an event of progress has a number outside this range', () => {
    const percentAfter = (percent: number): number | undefined => {
      const progress = { event: 'progress', percent, current: 1, step: '' };
      const store = storeAfter(['upgrade.info', { state: 'running' }], ['upgrade.progress', progress]);
      return store.state.upgrade?.run?.percent;
    };
    assert.deepEqual([-5, 0, 40, 100, 900].map(percentAfter), [0, 0, 40, 100, 100]);
  });

  test('an event of an upgrade changes only one part of the upgrade, and the store ignores progress outside a run', () => {
    const status = { current: '1', latest: '2', upgrade_available: true };
    const progress = { event: 'progress', percent: 40, current: 2, step: 'Fetching' };
    const store = storeAfter(
      ['upgrade.progress', progress],
      ['upgrade.info', { state: 'running', origin: 'systemd' }],
    );
    // The progress came before the run, so it is ignored.
    assert.deepEqual(store.state.upgrade, { run: { state: 'running', origin: 'systemd' } });

    store.apply({ type: 'upgrade.info', data: { ...status, checked_at: 'now' } });
    store.apply({ type: 'upgrade.progress', data: { event: 'begin', total: 3 } });
    store.apply(eventOf('upgrade.progress', progress));
    // The abilities come from a GET, and not from an event.
    const abilities = { can_check: true, can_upgrade: false };
    store.set({ upgrade: { ...store.state.upgrade, ...abilities } });
    const run = { state: 'running', origin: 'systemd', percent: 40, step: 'Fetching' };
    assert.deepEqual(store.state.upgrade, { ...status, checked_at: 'now', run, ...abilities });

    store.apply({ type: 'upgrade.info', data: status });
    assert.deepEqual(
      store.state.upgrade,
      { ...status, run, ...abilities },
      'the new status has no checked_at',
    );

    store.apply({ type: 'upgrade.check', data: { state: 'running' } });
    assert.deepEqual(store.state.upgrade?.check, { state: 'running' });
    // This event replaces the run, so the progress of the run is gone, too.
    store.apply({ type: 'upgrade.info', data: { state: 'idle' } });
    const expected = { ...status, run: { state: 'idle' }, check: { state: 'running' }, ...abilities };
    assert.deepEqual(store.state.upgrade, expected);
  });

  test('the store keeps the detail of a backend, but not the detail `snapshot` of a mark', () => {
    const { state } = storeAfter(
      ['backend.updated', { backend: 'audio', state: 'up', detail: 'snapshot' }],
      ['backend.updated', { backend: 'power', state: 'connecting', detail: 'no bus' }],
    );
    const expected = { audio: { state: 'up' }, power: { state: 'connecting', detail: 'no bus' } };
    assert.deepEqual(Object.fromEntries(state.backends), expected);
  });

  /** An event for each kind of record; `audio.updated` is the event of a client. */
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
  const emptySlicesOf = ({ state }: Store) => SLICES.filter((slice) => state[slice].size === 0);

  test('an event of a removal removes the record that the event identifies', () => {
    // The client has another name when it is removed, but its id still identifies it.
    const store = storeAfter(
      ...ALL_KINDS,
      ['audio.removed', [record(1, 'renamed')]],
      ['audio.output.removed', [record(1)]],
      ['audio.input.removed', [record(1)]],
      ['audio.card.removed', [record(1)]],
      ['player.removed', { bus_name }],
      ['node.removed', { name: 'attic' }],
    );
    // No event removes a unit.
    assert.deepEqual(emptySlicesOf(store), [
      'outputs',
      'inputs',
      'cards',
      'clients',
      'players',
      'tracklists',
      'nodes',
    ]);
  });

  test('an event of an unknown type changes nothing, even if every JavaScript object has a member with the name of the type', () => {
    for (const type of ['later.version', 'toString', 'constructor', '__proto__', 'hasOwnProperty']) {
      const store = storeAfter(['audio.output.updated', [record(1)]]);
      const before = store.state;
      store.apply(eventOf(type, { outputs: 'x' }));
      assert.equal(store.state, before, type);
    }
  });
});

describe('the position of a player', () => {
  const updatedAt = '2026-01-01T00:00:00.000Z';
  const playing = { playback_status: 'Playing', position: 1_000_000, position_updated_at: updatedAt };
  type Row = readonly [what: string, fields: object, laterMs: number, positionMicros: number | undefined];
  const rows: readonly Row[] = [
    ['extrapolated while the player plays', {}, 2500, 3_500_000],
    ['extrapolated at the rate of the player', { rate: 2 }, 1000, 3_000_000],
    ['no further than the end of its track', { metadata: { 'mpris:length': '1200000' } }, 5000, 1_200_000],
    ['not before the beginning of its track, even if the clocks differ', {}, -5000, 0],
    ['constant while the player is paused', { playback_status: 'Paused' }, 5000, 1_000_000],
    ['unknown if the player does not report it', { position: undefined }, 5000, undefined],
  ];
  for (const [what, fields, laterMs, positionMicros] of rows) {
    test(`the position of a player is ${what}`, () => {
      const playerRecord = { ...playing, ...fields } as unknown as PlayerRecord;
      assert.equal(positionOf(playerRecord, Date.parse(updatedAt) + laterMs), positionMicros);
    });
  }
});
