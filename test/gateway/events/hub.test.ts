// Tests the hub by what its streams receive (docs/events.md), except for what concerns HTTP.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseEventQuery } from '../../../src/gateway/events/query.js';
import { BACKENDS, type Backend } from '../../../src/protocol/actor/backends.js';
import type { Change } from '../../../src/protocol/actor/messages.js';
import { actionsOf, NodeUnderTest } from './node-under-test.js';
import type { NodeWorld } from './node-world.js';

type WorldChange = (world: NodeWorld) => readonly Change[];
type Row = readonly [change: WorldChange, received: string];
/** Changes, and the event that a stream sends for them (docs/events.md, "Events"). */
const TABLE: readonly Row[] = [
  [(world) => world.put('systemd.services', ['a', { name: 'a' }]), 'b-1 service.updated {"name":"a"}'],
  [(world) => world.putClients({ id: 1 }, { id: 2 }), 'b-2 audio.updated [{"id":1},{"id":2}]'],
  [
    (world) => [...world.putClients({ id: 1 }, { id: 2 }), ...world.drop('audio.clients', '1', '2')],
    'b-4 audio.removed [{"id":1},{"id":2}]',
  ],
  [(world) => world.putOutputs({ id: 1 }, { id: 2 }), 'b-2 audio.output.updated [{"id":1},{"id":2}]'],
  [
    (world) => [...world.putOutputs({ id: 1 }), ...world.drop('audio.outputs', '1')],
    'b-2 audio.output.removed [{"id":1}]',
  ],
  [(world) => world.action('power.action'), 'b-1 power.action {"n":1}'],
  [(world) => world.put('upgrade.info', ['status', { current: 1 }]), 'b-1 upgrade.info {"current":1}'],
  [(world) => world.put('upgrade.info', ['run', { state: 'idle' }]), 'b-1 upgrade.info {"state":"idle"}'],
  [(world) => world.put('upgrade.check', ['', { state: 'idle' }]), 'b-1 upgrade.check {"state":"idle"}'],
  [
    () => [{ kind: 'put', collection: 'upgrade.progress', key: '', json: ' { "n" :  1 } ' }],
    'b-1 upgrade.progress  { "n" :  1 } ',
  ],
  [
    (world) => world.backend('audio', 'restarting'),
    'b-1 backend.updated {"backend":"audio","state":"restarting"}',
  ],
];
for (const [change, expected] of TABLE) {
  test(`a stream gets ${expected}`, () => {
    const node = new NodeUnderTest();
    const consumer = node.consumer();
    node.publish([change(node.world)]);
    assert.deepEqual(node.received(consumer), [expected]);
  });
}

/** How many streams are open, and how many have ended with events still unread. */
function streamsOf({ hub }: NodeUnderTest): object {
  const { open, closedSlow } = hub.stats();
  return { open, closedSlow };
}

test('a removal without an event leads to a snapshot on streams that get records of its kind', () => {
  const node = new NodeUnderTest();
  const unit = (name: string) => node.world.put('systemd.services', [name, { name }]);
  node.publish([unit('a'), unit('b')]);
  const withSnapshot = node.consumer('snapshot=1');
  const actionsOnly = node.consumer('types=power.action');
  const full = node.consumer('');
  const away = node.consumer('', { lastEventId: 'b-2' });
  const slow = node.consumer('', { capacity: 0, lastEventId: 'b-2' });
  away.connection.breakOff();
  node.publish([
    node.world.action('power.action'),
    node.world.drop('systemd.services', 'a'),
    node.world.action('power.action'),
    unit('c'),
  ]);
  away.open('');

  for (const consumer of [withSnapshot, full, away, slow]) {
    consumer.readAll();
    assert.deepEqual([...consumer.model.known.units.values()], [{ name: 'b' }, { name: 'c' }]);
    assert.deepEqual(actionsOf(consumer.model), [1, 2]);
  }
  assert.deepEqual(node.received(actionsOnly), ['b-3 power.action {"n":1}', 'b-5 power.action {"n":2}']);
  node.publish([unit('d')]);
  assert.deepEqual(node.received(full).at(-1), 'b-7 service.updated {"name":"d"}');
});

const recordOf = (version: number) => ({ bus_name: 'mpd', version });
const addedEvent = (version: number): string => `player.added ${JSON.stringify(recordOf(version))}`;
const updatedEvent = (version: number): string => `player.updated ${JSON.stringify(recordOf(version))}`;
const REMOVED_EVENT = 'player.removed {"bus_name":"mpd"}';
const putPlayer =
  (version: number): WorldChange =>
  (world) =>
    world.put('players', ['mpd', recordOf(version)]);
const putOtherPlayer: WorldChange = (world) => world.put('players', ['vlc', { bus_name: 'vlc' }]);
const dropPlayer: WorldChange = (world) => world.drop('players', 'mpd');

/** The changes of a player in each delivery, and the events that follow. */
const PLAYERS: readonly (readonly [what: string, deliveries: WorldChange[][], events: string[]])[] = [
  ['comes', [[putPlayer(1)]], [addedEvent(1)]],
  ['comes and changes in one delivery', [[putPlayer(1), putPlayer(2)]], [addedEvent(2)]],
  ['changes later', [[putPlayer(1), putPlayer(2)], [putPlayer(3)]], [addedEvent(2), updatedEvent(3)]],
  [
    'comes and changes in one delivery, with another player in between',
    [[putPlayer(1), putOtherPlayer, putPlayer(2)], [putPlayer(3)]],
    [addedEvent(2), updatedEvent(3)],
  ],
  [
    'goes, comes and changes in one delivery',
    [[putPlayer(1)], [dropPlayer, putPlayer(2), putPlayer(3)]],
    [addedEvent(1), REMOVED_EVENT, addedEvent(3)],
  ],
];
for (const [what, deliveries, expected] of PLAYERS) {
  for (const [who, capacity] of [
    ['keeps up', undefined],
    ['accepts one write at a time', 1],
  ] as const) {
    test(`a stream that ${who} gets player.added once per arrival of a player that ${what}`, () => {
      const node = new NodeUnderTest();
      const consumer = node.consumer('types=player.added,player.updated,player.removed', { capacity });
      for (const changes of deliveries) {
        node.publish([changes.flatMap((change) => change(node.world))]);
        consumer.readAll();
      }
      // The JSON of a removal has only the player's name. The JSON of other events has the player as `data`.
      const events = consumer.events.slice(1).map(({ type, data }) => {
        const parsed = JSON.parse(data) as { readonly data?: object };
        return `${type} ${JSON.stringify(parsed.data ?? parsed)}`;
      });
      assert.deepEqual(
        events.filter((text) => text.includes('"mpd"')),
        expected,
      );
    });
  }
}

const levelEvent = (peak: number): string => `audio.level {"outputs":[{"id":1,"peak":[${peak}]}]}`;

test('a level is sent at once, without an id, to streams whose filter names levels, and is not kept', () => {
  const node = new NodeUnderTest();
  const levelsOnly = node.consumer('types=audio.level');
  const audio = node.consumer('backend=audio');
  const full = node.consumer('');
  node.publishLevel(0.5);
  node.publish([node.world.putClients({ id: 1 })]);
  node.publishLevel(0.25);
  assert.deepEqual(node.received(levelsOnly), [` ${levelEvent(0.5)}`, ` ${levelEvent(0.25)}`]);
  assert.deepEqual(node.received(audio), ['b-1 audio.updated [{"id":1}]']);
  assert.deepEqual(node.received(full), ['b-1 audio.updated [{"id":1}]']);
  const withSnapshot = node.consumer('types=audio.level,audio.updated', { lastEventId: 'other-1' });
  assert.ok(!node.received(withSnapshot).some((line) => line.includes('audio.level')));
  const resumed = node.consumer('types=audio.level,power.action', { lastEventId: 'b-1' });
  node.publish([node.world.action('power.action')]);
  assert.deepEqual(node.received(resumed), ['b-2 power.action {"n":1}']);
});

test('a slow consumer gets only the newest level, after the events that wait', () => {
  const node = new NodeUnderTest();
  const consumer = node.consumer('types=audio.level,audio.updated', { capacity: 0 });
  for (const peak of [0.1, 0.2, 0.3]) node.publishLevel(peak);
  node.publish([node.world.putClients({ id: 1 })]);
  node.publishLevel(0.4);
  // A level has no id, so the consumer's last id is still that of the event before.
  assert.deepEqual(node.received(consumer), ['b-1 audio.updated [{"id":1}]', `b-1 ${levelEvent(0.4)}`]);
  node.publishLevel(0.5);
  assert.deepEqual(node.received(consumer).at(-1), `b-1 ${levelEvent(0.5)}`);
});

test('levels do not postpone the event "love", which brings the newest id', () => {
  const node = new NodeUnderTest();
  const consumer = node.consumer('types=audio.level&keepalive=10');
  for (let seconds = 0; seconds < 10; seconds += 1) {
    node.publishUnrelatedRemovals(1);
    node.publishLevel(seconds / 10);
    node.clock.advance(1000);
  }
  node.clock.advance(1000);
  assert.ok(node.received(consumer).includes('b-20 server.info "love"'));
});

/** The marks of all backends except those `excluded`. Each mark says that its backend is connecting. */
const marks = (...excluded: readonly Backend[]): readonly string[] =>
  BACKENDS.filter((backend) => !excluded.includes(backend)).map(
    (backend) => ` backend.updated {"backend":"${backend}","state":"connecting","detail":"snapshot"}`,
  );
const SNAPSHOT = [
  ' backend.updated {"backend":"audio","state":"up","detail":"snapshot"}',
  ' audio.updated [{"id":2}]',
  ...marks('audio'),
];
const SNAPSHOT_FOR: readonly [query: string, id: string][] = [
  ['snapshot=1', ''],
  ['snapshot=1', 'other-3'],
  ['', 'other-3'],
  ['', 'b-99'],
  ['', '!'],
];
for (const [query, id] of SNAPSHOT_FOR) {
  test(`a stream with the query "${query}" and the id "${id}" starts with the current state`, () => {
    const node = new NodeUnderTest();
    node.publish([node.world.backend('audio', 'up'), node.world.putClients({ id: 1 }, { id: 2 })]);
    node.publish([node.world.drop('audio.clients', '1'), node.world.action('power.action')]);
    // Until the end of the snapshot the consumer keeps its earlier id. If it breaks off, it gets another
    // snapshot.
    const lastIndex = SNAPSHOT.length - 1;
    const expected = SNAPSHOT.map((line, index) => `${index < lastIndex ? id : 'b-5'}${line}`);
    assert.deepEqual(node.received(node.consumer(query, { lastEventId: id })), expected);
  });
}

test("a backend's own detail follows its mark in a snapshot, unless the filter excludes it", () => {
  const node = new NodeUnderTest();
  node.publish([node.world.backend('audio', 'up', 'no card'), node.world.putClients({ id: 1 })]);
  const [mark, detail, record] = node.received(node.consumer('snapshot=1'));
  assert.equal(mark, SNAPSHOT[0]);
  assert.equal(detail, ' backend.updated {"backend":"audio","state":"up","detail":"no card"}');
  assert.equal(record, ' audio.updated [{"id":1}]');
  const filtered = node.received(node.consumer('snapshot=1&types=audio.updated'));
  assert.deepEqual(filtered.slice(0, 2), [mark, record]);
});

test('a filtered stream gets the marks of a snapshot, which make its client forget old records', () => {
  for (const query of ['types=audio.updated', 'exclude=backend.updated', 'types=nothing.known']) {
    const node = new NodeUnderTest();
    const consumer = node.consumer(query, { lastEventId: 'other-3' });
    const lines = node.received(consumer).map((line) => line.slice(line.indexOf(' ')));
    assert.deepEqual(lines, marks());
    node.publish([node.world.backend('audio', 'up')]);
    assert.deepEqual(
      node.received(consumer).length,
      BACKENDS.length,
      'an event that is no mark is still filtered',
    );
  }
});

test("many changes that a stream's filter excludes do not push an action out of the journal", () => {
  const node = new NodeUnderTest();
  node.publishProgress(2);
  node.publishUnrelatedRemovals(3000);
  node.publishProgress(1);
  assert.deepEqual(node.received(node.consumer('types=upgrade.progress', { lastEventId: 'b-1' })), [
    'b-2 upgrade.progress {"n":2}',
    'b-6003 upgrade.progress {"n":3}',
  ]);
});

test('a client whose id is too old gets the kept removals and actions, then the state', () => {
  const node = new NodeUnderTest();
  node.publish([node.world.putClients({ id: 1 }, { id: 2 })]);
  node.publishProgress(1100);
  node.publish([node.world.drop('audio.clients', '1')]);

  // Only the last event of a snapshot has an id. The others repeat the id with which the client came.
  const lines = node.received(node.consumer('', { lastEventId: 'b-3' }));
  const ACTIONS_KEPT = 1024;
  assert.match(lines[0] ?? '', /^b-3 upgrade\.progress {"n":77}$/);
  assert.equal(lines[ACTIONS_KEPT - 1], 'b-3 upgrade.progress {"n":1100}');
  assert.equal(lines[ACTIONS_KEPT], 'b-3 audio.removed [{"id":1}]');
  assert.match(lines[ACTIONS_KEPT + 1] ?? '', /^b-3 backend\.updated .*"snapshot"/);
  assert.match(lines.at(-1) ?? '', /^b-1103 backend\.updated .*snapshot/);
});

test('a consumer that reads nothing is not closed, has nothing written to it, and delays nobody', () => {
  const node = new NodeUnderTest();
  const stalled = node.consumer('', { capacity: 0 });
  const quick = node.consumer();
  node.publishProgress(120, { pad: 'x'.repeat(10_000) });
  assert.ok(stalled.isOpen);
  // Only the first lines of the stream wait to be read.
  assert.ok(stalled.connection.buffered < 1000, 'nothing was written to it meanwhile');
  assert.equal(node.received(quick).length, 120);
  assert.deepEqual(streamsOf(node), { open: 2, closedSlow: 0 });
  assert.equal(node.received(stalled).length, 120);
});

test('a consumer that leaves with events unread counts as slow, one that has read everything does not', () => {
  const node = new NodeUnderTest();
  const stalled = node.consumer('', { capacity: 0 });
  const quick = node.consumer();
  const recovered = node.consumer('', { capacity: 0 });
  node.publishProgress(1);
  recovered.readAll();
  for (const { connection } of [stalled, quick, recovered]) connection.breakOff();
  assert.deepEqual(streamsOf(node), { open: 0, closedSlow: 1 });
});

test('the event "love" has the id of events that the filter excludes, so that the id does not expire', () => {
  const node = new NodeUnderTest();
  const filtered = node.consumer('types=power.action&keepalive=10');
  node.publishUnrelatedRemovals(2000);
  node.clock.advance(11_000);
  assert.deepEqual(node.received(filtered), ['b-4000 server.info "love"']);
  node.publishUnrelatedRemovals(100);
  filtered.connection.breakOff();
  node.publish([node.world.action('power.action')]);
  filtered.open('');
  filtered.readAll();
  assert.equal(filtered.events.at(-1)?.data, '{"n":1}');
  assert.equal(filtered.model.marks, 0);
});

test('an event postpones the next "love"', () => {
  const node = new NodeUnderTest();
  const consumer = node.consumer('keepalive=10');
  node.clock.advance(9_000);
  node.publishProgress(1);
  node.clock.advance(9_900);
  assert.equal(node.received(consumer).length, 1);
  node.clock.advance(1_000);
  assert.equal(node.received(consumer).length, 2);
});

test('a stream that is not read gets no "love" until it has caught up', () => {
  const node = new NodeUnderTest();
  const consumer = node.consumer('keepalive=10', { capacity: 0 });
  node.clock.advance(60_000);
  assert.deepEqual(node.received(consumer), []);
  node.clock.advance(11_000);
  assert.deepEqual(node.received(consumer), ['b-0 server.info "love"']);
});

test('at shutdown every stream gets bye after all waiting events, and ends', async () => {
  const node = new NodeUnderTest();
  const quick = node.consumer();
  const slow = node.consumer('', { capacity: 0 });
  node.publishProgress(2);
  const byeSent = node.hub.bye(2000);
  assert.equal(quick.connection.over, 'ended');
  assert.equal(slow.connection.over, undefined);
  assert.equal(node.received(slow).at(-1), 'b-2 server.info "bye"');
  assert.equal(slow.connection.over, 'ended');
  await byeSent;
  assert.equal(node.received(quick).at(-1), 'b-2 server.info "bye"');
  assert.equal(node.clock.timers, 0);
  assert.deepEqual(streamsOf(node), { open: 0, closedSlow: 0 });
});

test('a stream whose first lines cannot be written does not count as open', () => {
  const node = new NodeUnderTest(1);
  const write = (): boolean => {
    throw new Error('a defect');
  };
  const query = parseEventQuery('types=audio.level', '');
  assert.ok(query.ok);
  const sink = { write, end: () => undefined, cut: () => undefined };
  assert.throws(() => node.hub.openStream(query.value, sink), /a defect/);
  assert.deepEqual(streamsOf(node), { open: 0, closedSlow: 0 });
  assert.deepEqual(node.watched, [true, false]);
  assert.equal(node.clock.timers, 0);
});
