// Tests the hub by what its streams receive (docs/events.md), except for what concerns HTTP.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseEventQuery } from '../../../src/gateway/events/query.js';
import { BACKENDS, type Backend } from '../../../src/protocol/actor/backends.js';
import type { Change } from '../../../src/protocol/actor/messages.js';
import { actionsOf, NodeUnderTest } from './node-under-test.js';
import type { NodeWorld } from './node-world.js';

type WorldChange = (world: NodeWorld) => readonly Change[];
/**
 * Changes, and the event that a stream gets for them (docs/events.md, "Events"): its id, its type and its
 * data. The first id is b-1. Each change takes an id, and a joint event has the id of its last change. A put
 * makes no event if a drop of the same record follows in the batch.
 */
const EVENTS_OF_CHANGES: readonly (readonly [change: WorldChange, received: string])[] = [
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
    // The stream gets the JSON unchanged, with its spaces.
    () => [{ kind: 'put', collection: 'upgrade.progress', key: '', json: ' { "n" :  1 } ' }],
    'b-1 upgrade.progress  { "n" :  1 } ',
  ],
  [
    (world) => world.backend('audio', 'restarting'),
    'b-1 backend.updated {"backend":"audio","state":"restarting"}',
  ],
];
for (const [change, expected] of EVENTS_OF_CHANGES) {
  test(`a stream gets ${expected}`, () => {
    const node = new NodeUnderTest();
    const consumer = node.consumer();
    node.publish([change(node.world)]);
    assert.deepEqual(node.received(consumer), [expected]);
  });
}

/** `publishUnrelatedRemovals` publishes a put and a drop for each removal, so each takes two ids. */
const IDS_PER_REMOVAL = 2;

/** How many streams are open, and how many have ended because their client was too slow. */
function streamCounts({ hub }: NodeUnderTest): object {
  const { open, closedSlow } = hub.stats();
  return { open, closedSlow };
}

test('a removed unit leads to a snapshot on streams that get units, because its removal makes no event', () => {
  const node = new NodeUnderTest();
  const unit = (name: string) => node.world.put('systemd.services', [name, { name }]);
  node.publish([unit('a'), unit('b')]);
  const withSnapshot = node.consumer('snapshot=1');
  const actionsOnly = node.consumer('types=power.action');
  const unfiltered = node.consumer('');
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

  for (const consumer of [withSnapshot, unfiltered, away, slow]) {
    consumer.readAll();
    assert.deepEqual([...consumer.model.known.units.values()], [{ name: 'b' }, { name: 'c' }]);
    assert.deepEqual(actionsOf(consumer.model), [1, 2]);
  }
  assert.deepEqual(node.received(actionsOnly), ['b-3 power.action {"n":1}', 'b-5 power.action {"n":2}']);
  node.publish([unit('d')]);
  assert.deepEqual(node.received(unfiltered).at(-1), 'b-7 service.updated {"name":"d"}');
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

interface PlayerRow {
  readonly what: string;
  /** The changes of each batch. */
  readonly batches: readonly (readonly WorldChange[])[];
  /** The events of the player `mpd`. */
  readonly events: readonly string[];
}
const PLAYER_ROWS: readonly PlayerRow[] = [
  { what: 'comes', batches: [[putPlayer(1)]], events: [addedEvent(1)] },
  {
    what: 'comes and changes in one batch',
    batches: [[putPlayer(1), putPlayer(2)]],
    events: [addedEvent(2)],
  },
  {
    what: 'comes and changes in one batch, and changes again in the next',
    batches: [[putPlayer(1), putPlayer(2)], [putPlayer(3)]],
    events: [addedEvent(2), updatedEvent(3)],
  },
  {
    what: 'comes and changes in one batch, with another player in between',
    batches: [[putPlayer(1), putOtherPlayer, putPlayer(2)], [putPlayer(3)]],
    events: [addedEvent(2), updatedEvent(3)],
  },
  {
    what: 'that is known goes, comes back and changes in one batch',
    batches: [[putPlayer(1)], [dropPlayer, putPlayer(2), putPlayer(3)]],
    events: [addedEvent(1), REMOVED_EVENT, addedEvent(3)],
  },
];
/** With a capacity of one byte, the connection accepts one write, and no other until the consumer reads. */
const READERS = [
  { who: 'keeps up', capacity: undefined },
  { who: 'accepts one write at a time', capacity: 1 },
];
for (const { what, batches, events: expected } of PLAYER_ROWS) {
  for (const { who, capacity } of READERS) {
    test(`if a player ${what}, a stream that ${who} gets player.added once for each arrival`, () => {
      const node = new NodeUnderTest();
      const consumer = node.consumer('types=player.added,player.updated,player.removed', { capacity });
      for (const changes of batches) {
        node.publish([changes.flatMap((change) => change(node.world))]);
        consumer.readAll();
      }
      // The first event, "connected", is left out. The JSON of a removal has only the player's name. The
      // JSON of other events has the player as `data`.
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

/** A level has no id, so a consumer keeps its earlier id, which is '' at first. */
const levelEvent = (peak: number, earlierId = ''): string =>
  `${earlierId} audio.level {"outputs":[{"id":1,"peak":[${peak}]}]}`;

test('a level, which has no id, goes only to open streams whose filter names levels', () => {
  const node = new NodeUnderTest();
  const levelsOnly = node.consumer('types=audio.level');
  const audio = node.consumer('backend=audio');
  const unfiltered = node.consumer('');
  node.publishLevel(0.5);
  node.publish([node.world.putClients({ id: 1 })]);
  node.publishLevel(0.25);
  assert.deepEqual(node.received(levelsOnly), [levelEvent(0.5), levelEvent(0.25)]);
  assert.deepEqual(node.received(audio), ['b-1 audio.updated [{"id":1}]']);
  assert.deepEqual(node.received(unfiltered), ['b-1 audio.updated [{"id":1}]']);

  // Later streams do not get these levels, neither in a snapshot nor when they resume.
  const withSnapshot = node.consumer('types=audio.level,audio.updated', { lastEventId: 'other-1' });
  assert.ok(!node.received(withSnapshot).some((line) => line.includes('audio.level')));
  const resumed = node.consumer('types=audio.level,power.action', { lastEventId: 'b-1' });
  node.publish([node.world.action('power.action')]);
  assert.deepEqual(node.received(resumed), ['b-2 power.action {"n":1}']);
});

test('a slow consumer gets only the newest level, after the pending events', () => {
  const node = new NodeUnderTest();
  const consumer = node.consumer('types=audio.level,audio.updated', { capacity: 0 });
  for (const peak of [0.1, 0.2, 0.3]) node.publishLevel(peak);
  node.publish([node.world.putClients({ id: 1 })]);
  node.publishLevel(0.4);
  assert.deepEqual(node.received(consumer), ['b-1 audio.updated [{"id":1}]', levelEvent(0.4, 'b-1')]);
  node.publishLevel(0.5);
  assert.deepEqual(node.received(consumer).at(-1), levelEvent(0.5, 'b-1'));
});

test('levels do not postpone the event "love", which brings the newest id', () => {
  const node = new NodeUnderTest();
  const keepaliveS = 10;
  const consumer = node.consumer(`types=audio.level&keepalive=${keepaliveS}`);
  for (let seconds = 0; seconds < keepaliveS; seconds += 1) {
    node.publishUnrelatedRemovals(1);
    node.publishLevel(seconds / 10);
    node.clock.advance(1000);
  }
  // A "love" may come 250 ms late (`KEEP_ALIVE_SLACK_MS` in events/hub.ts).
  node.clock.advance(1000);
  const newestId = `b-${keepaliveS * IDS_PER_REMOVAL}`;
  assert.ok(node.received(consumer).includes(`${newestId} server.info "love"`));
});

/** The marks of all backends that are not in `excluded`. Each mark says that its backend is connecting. */
const marks = (...excluded: readonly Backend[]): readonly string[] =>
  BACKENDS.filter((backend) => !excluded.includes(backend)).map(
    (backend) => ` backend.updated {"backend":"${backend}","state":"connecting","detail":"snapshot"}`,
  );
/** The lines of a snapshot, without their ids. */
const SNAPSHOT = [
  ' backend.updated {"backend":"audio","state":"up","detail":"snapshot"}',
  ' audio.updated [{"id":2}]',
  ...marks('audio'),
];
/** Streams get a snapshot on request, or if their id has another boot id, is too high, or is invalid. */
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
    // Only the last event of a snapshot has an id. A consumer that loses its connection before this event
    // returns with its earlier id, and gets a whole snapshot.
    const lastIndex = SNAPSHOT.length - 1;
    // The five changes above have taken five ids.
    const newestId = 'b-5';
    const expected = SNAPSHOT.map((line, index) => `${index < lastIndex ? id : newestId}${line}`);
    assert.deepEqual(node.received(node.consumer(query, { lastEventId: id })), expected);
  });
}

test('a snapshot has the run of an upgrade with its progress, and a change of the progress makes no upgrade.info', () => {
  const node = new NodeUnderTest();
  // Streams get the records of `upgrade.run` only in snapshots.
  const putRun = (percent: number) => node.world.put('upgrade.run', ['run', { state: 'running', percent }]);
  node.publish([node.world.backend('upgrade', 'up')]);
  const live = node.consumer();
  node.publish([node.world.put('upgrade.info', ['run', { state: 'running' }]), putRun(5)]);
  node.publish([putRun(7)]);
  assert.deepEqual(node.received(live), ['b-2 upgrade.info {"state":"running"}']);
  const snapshot = node.received(node.consumer('snapshot=1'));
  const runs = snapshot.filter((line) => line.includes('upgrade.info'));
  assert.deepEqual(runs, [' upgrade.info {"state":"running","percent":7}']);
});

test("a backend's own detail follows its mark in a snapshot, unless the filter excludes backend.updated", () => {
  const node = new NodeUnderTest();
  node.publish([node.world.backend('audio', 'up', 'no card'), node.world.putClients({ id: 1 })]);
  const [mark, detail, record] = node.received(node.consumer('snapshot=1'));
  assert.equal(mark, SNAPSHOT[0]);
  assert.equal(detail, ' backend.updated {"backend":"audio","state":"up","detail":"no card"}');
  assert.equal(record, ' audio.updated [{"id":1}]');
  const filtered = node.received(node.consumer('snapshot=1&types=audio.updated'));
  assert.deepEqual(filtered.slice(0, 2), [mark, record]);
});

test('a filtered stream gets the marks of a snapshot, because they make its client forget old records', () => {
  for (const query of ['types=audio.updated', 'exclude=backend.updated', 'types=nothing.known']) {
    const node = new NodeUnderTest();
    const consumer = node.consumer(query, { lastEventId: 'other-3' });
    const withoutIds = node.received(consumer).map((line) => line.slice(line.indexOf(' ')));
    assert.deepEqual(withoutIds, marks());
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
  const removals = 3000;
  node.publishProgress(2);
  node.publishUnrelatedRemovals(removals);
  node.publishProgress(1);
  assert.deepEqual(node.received(node.consumer('types=upgrade.progress', { lastEventId: 'b-1' })), [
    'b-2 upgrade.progress {"n":2}',
    `b-${2 + removals * IDS_PER_REMOVAL + 1} upgrade.progress {"n":3}`,
  ]);
});

/** The journal keeps this many actions (docs/events.md, "Coming back"). */
const ACTIONS_KEPT = 1024;

test('a client whose id is too old gets the kept removals and actions, then the state', () => {
  const node = new NodeUnderTest();
  const actions = 1100;
  node.publish([node.world.putClients({ id: 1 }, { id: 2 })]);
  node.publishProgress(actions);
  node.publish([node.world.drop('audio.clients', '1')]);

  // Only the last event of a snapshot has an id. Until then the client keeps the id with which it came.
  const lines = node.received(node.consumer('', { lastEventId: 'b-3' }));
  const oldestKept = actions - ACTIONS_KEPT + 1;
  assert.equal(lines[0], `b-3 upgrade.progress {"n":${oldestKept}}`);
  assert.equal(lines[ACTIONS_KEPT - 1], `b-3 upgrade.progress {"n":${actions}}`);
  assert.equal(lines[ACTIONS_KEPT], 'b-3 audio.removed [{"id":1}]');
  assert.match(lines[ACTIONS_KEPT + 1] ?? '', /^b-3 backend\.updated .*"snapshot"/);
  // The two clients, the actions and the removal have taken ids.
  const newestId = `b-${2 + actions + 1}`;
  assert.match(lines.at(-1) ?? '', new RegExp(`^${newestId} backend\\.updated .*snapshot`));
});

test('all events of one batch come in one write, so that no client reads a removal without the update after it', () => {
  const node = new NodeUnderTest();
  const rename = (world: NodeWorld, name: string) => [
    ...world.drop('audio.clients', '1'),
    ...world.putClients({ id: 1, name }),
    ...world.action('power.action'),
  ];
  node.publish([node.world.putClients({ id: 1, name: 'old' })]);
  const whole = node.consumer();
  const filtered = node.consumer('types=audio.updated,audio.removed');
  const other = node.consumer('types=service.updated');
  const writes = () => [whole, filtered, other].map(({ connection }) => connection.writes);
  assert.deepEqual(writes(), [1, 1, 1]);
  node.publish([rename(node.world, 'new')]);
  assert.deepEqual(writes(), [2, 2, 1]);
  const renamed = ['b-2 audio.removed [{"id":1,"name":"old"}]', 'b-3 audio.updated [{"id":1,"name":"new"}]'];
  assert.deepEqual(node.received(whole), [...renamed, 'b-4 power.action {"n":1}']);
  assert.deepEqual(node.received(filtered), renamed);
});

test('a slow stream gets several events in one write only up to 64 KiB, and the other events of the batch later', () => {
  const node = new NodeUnderTest();
  const slow = node.consumer('', { capacity: 0 });
  slow.readAll();
  const events = 20;
  // Each of these events has less than 11 KB, so 64 KiB have room for at least five.
  const pad = 'é'.repeat(5000);
  node.publish(Array.from({ length: events }, () => node.world.action('upgrade.progress', { pad })));
  const { buffered } = slow.connection;
  assert.ok(buffered > 50_000 && buffered <= 64 * 1024, `${buffered} bytes`);
  assert.equal(node.received(slow).length, events);
});

test('a stream that is not read stays open without further writes, and delays no other stream', () => {
  const node = new NodeUnderTest();
  const stalled = node.consumer('', { capacity: 0 });
  const quick = node.consumer();
  node.publishProgress(120, { pad: 'x'.repeat(10_000) });
  assert.ok(stalled.isOpen);
  // The first lines of a stream are shorter than this. Each of the events is longer.
  const firstLinesMaxBytes = 1000;
  assert.ok(stalled.connection.buffered < firstLinesMaxBytes, 'no event was written to it');
  assert.equal(node.received(quick).length, 120);
  assert.deepEqual(streamCounts(node), { open: 2, closedSlow: 0 });
  assert.equal(node.received(stalled).length, 120);
});

test('a lost consumer counts as slow if it has left events unread for ten seconds, and not if it has read everything', () => {
  const node = new NodeUnderTest();
  const stalled = node.consumer('', { capacity: 0 });
  const quick = node.consumer();
  const recovered = node.consumer('', { capacity: 0 });
  node.publishProgress(1);
  recovered.readAll();
  node.clock.advance(10_000);
  for (const { connection } of [stalled, quick, recovered]) connection.breakOff();
  assert.deepEqual(streamCounts(node), { open: 0, closedSlow: 1 });
});

test('a consumer that leaves with events unread for only five seconds does not count as slow', () => {
  const node = new NodeUnderTest();
  const behindFromStart = node.consumer('', { capacity: 0 });
  const behindLater = node.consumer('', { capacity: 0 });
  behindLater.readAll();
  node.publishProgress(1);
  node.clock.advance(5_000);
  for (const { connection } of [behindFromStart, behindLater]) connection.breakOff();
  assert.deepEqual(streamCounts(node), { open: 0, closedSlow: 0 });
});

test('a consumer that leaves a short while after it has taken a part of its bytes does not count as slow', () => {
  const node = new NodeUnderTest();
  const { connection } = node.consumer('', { capacity: 0 });
  node.publishProgress(1);
  node.clock.advance(8_000);
  connection.stream?.onProgress();
  node.clock.advance(2_000);
  connection.breakOff();
  assert.deepEqual(streamCounts(node), { open: 0, closedSlow: 0 });
});

test('the event "love" brings the id of the newest excluded event, so that a quiet stream can be resumed', () => {
  const node = new NodeUnderTest();
  const filtered = node.consumer('types=power.action&keepalive=10');
  const removals = 2000;
  node.publishUnrelatedRemovals(removals);
  node.clock.advance(11_000);
  assert.deepEqual(node.received(filtered), [`b-${removals * IDS_PER_REMOVAL} server.info "love"`]);
  node.publishUnrelatedRemovals(100);
  filtered.connection.breakOff();
  node.publish([node.world.action('power.action')]);
  filtered.open('');
  filtered.readAll();
  assert.equal(filtered.events.at(-1)?.data, '{"n":1}');
  assert.equal(filtered.model.marks, 0, 'the id has not expired, so there is no snapshot');
});

test('an event postpones the next "love"', () => {
  const node = new NodeUnderTest();
  const consumer = node.consumer('keepalive=10');
  node.clock.advance(9_000);
  node.publishProgress(1);
  node.clock.advance(9_900);
  assert.equal(node.received(consumer).length, 1, 'only the event has come');
  node.clock.advance(1_000);
  assert.equal(node.received(consumer).length, 2, '"love" has come');
});

test('a stream that is not read gets no "love" until it has caught up', () => {
  const node = new NodeUnderTest();
  const consumer = node.consumer('keepalive=10', { capacity: 0 });
  node.clock.advance(60_000);
  // `received` reads everything, so the stream has caught up from here on.
  assert.deepEqual(node.received(consumer), []);
  node.clock.advance(11_000);
  assert.deepEqual(node.received(consumer), ['b-0 server.info "love"']);
});

test('at shutdown every stream gets bye after all pending events, and ends', async () => {
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
  assert.deepEqual(streamCounts(node), { open: 0, closedSlow: 0 });
});

test('a stream whose first lines cannot be written does not count as open', () => {
  const node = new NodeUnderTest();
  const write = (): boolean => {
    throw new Error('a defect');
  };
  const query = parseEventQuery('types=audio.level', '');
  assert.ok(query.ok);
  const sink = { write, end: () => undefined, cut: () => undefined };
  assert.throws(() => node.hub.openStream(query.value, sink), /a defect/);
  assert.deepEqual(streamCounts(node), { open: 0, closedSlow: 0 });
  // The levels are measured for the stream, and then no longer.
  assert.deepEqual(node.levelsWatched, [true, false]);
  assert.equal(node.clock.timers, 0);
});
