// Tests which events the hub sends to consumers that do not keep up, and in which portions. storm.test.ts
// has random histories.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Change } from '../../../src/protocol/actor/messages.js';
import { drop, put } from '../scripted-backends.js';
import { actionsOf, NodeUnderTest } from './node-under-test.js';
import type { NodeWorld } from './node-world.js';

/** A record with this text does not fit into a list with other records. */
const LONG = 'x'.repeat(64 * 1024);
/** The journal keeps 1024 removals (`KEPT_ENTRIES_MAX` in journal.ts). */
const MORE_REMOVALS_THAN_KEPT = 1100;

/** Changes while the consumer does not read, and the events that it gets afterwards. */
const CONFLATIONS: readonly [
  name: string,
  changesOf: (world: NodeWorld) => readonly (readonly Change[])[],
  received: readonly string[],
][] = [
  [
    'records of one kind are sent as one list',
    (world) => [world.putOutputs({ id: 1 }, { id: 2 }), world.putOutputs({ id: 3 })],
    ['b-3 audio.output.updated [{"id":1},{"id":2},{"id":3}]'],
  ],
  [
    'records that are too large for one list are sent as several lists, each with the id of its newest record',
    (world) => [world.putOutputs({ id: 1 }, { id: 2, pad: LONG }, { id: 3 })],
    [
      'b-1 audio.output.updated [{"id":1}]',
      `b-2 audio.output.updated [{"id":2,"pad":"${LONG}"}]`,
      'b-3 audio.output.updated [{"id":3}]',
    ],
  ],
  [
    'all actions are sent in order, but a record is sent only once, at the place of its latest change',
    (world) => [
      world.put('upgrade.info', ['run', { state: 'running' }]),
      world.action('upgrade.progress'),
      world.action('upgrade.progress'),
      world.put('upgrade.info', ['run', { state: 'idle' }]),
      world.action('power.action'),
    ],
    [
      'b-2 upgrade.progress {"n":1}',
      'b-3 upgrade.progress {"n":2}',
      'b-4 upgrade.info {"state":"idle"}',
      'b-5 power.action {"n":3}',
    ],
  ],
];
for (const [name, changesOf, expected] of CONFLATIONS) {
  test(`if a consumer is slow, ${name}`, () => {
    const node = new NodeUnderTest();
    const consumer = node.consumer('', { capacity: 0 });
    node.publish(changesOf(node.world));
    assert.deepEqual(node.received(consumer), expected);
  });
}

/** The second text has 3 bytes for each character. */
const LARGE_TEXTS = { ASCII: 'x'.repeat(100_000), Japanese: '\u65e5'.repeat(30_000) };
/**
 * The hub adds events to a portion until the portion has 64 KiB (`PORTION_MAX_BYTES` in cursor.ts). The last
 * event may have a record of 100 kB, so a portion has about 165 kB at most. The 20 records together have at
 * least 1.8 MB.
 */
const PORTION_BOUND_BYTES = 200_000;
for (const [script, pad] of Object.entries(LARGE_TEXTS)) {
  test(`a snapshot of ${script} records has its id only at its end, and waits in memory only in small portions`, () => {
    const node = new NodeUnderTest();
    for (let id = 0; id < 20; id += 1) node.publish([node.world.putClients({ id, pad })]);
    const consumer = node.consumer('snapshot=1', { capacity: 0 });
    while (consumer.connection.buffered > 0) {
      assert.ok(consumer.connection.buffered < PORTION_BOUND_BYTES, 'portions are small');
      consumer.read();
    }

    // The first event of every stream is `connected`, and is no part of the snapshot.
    const ids = consumer.events.slice(1).map(({ lastEventId }) => lastEventId);
    const distinctIdsBeforeEnd = new Set(ids.slice(0, -1));
    assert.deepEqual([...distinctIdsBeforeEnd], ['']);
    assert.match(ids.at(-1) ?? '', /^b-/);
    assert.deepEqual(consumer.model.state(), node.world.expectedState());
  });
}

test('a snapshot makes a slow consumer forget a record whose removal the journal has forgotten', () => {
  const node = new NodeUnderTest();
  node.publish([node.world.putClients({ id: 1 }, { id: 2 })]);
  const consumer = node.consumer('snapshot=1', { capacity: 0 });
  consumer.readAll();
  // The consumer does not read this event, so its stream is behind when the removal comes.
  node.publishProgress(1);
  node.publish([node.world.drop('audio.clients', '1')]);
  node.publishUnrelatedRemovals(MORE_REMOVALS_THAN_KEPT);
  consumer.readAll();
  assert.deepEqual(consumer.model.state(), node.world.expectedState());
});

test('an event that is published while the last portion waits is sent after that portion', () => {
  const node = new NodeUnderTest();
  const consumer = node.consumer('', { capacity: 0 });
  node.publishProgress(1, { pad: LONG });
  // The consumer reads the first lines of the stream, so the hub writes the event. The event is the last
  // portion, and waits to be read.
  consumer.read(consumer.connection.buffered);
  node.publishProgress(1);
  consumer.readAll();
  assert.deepEqual(actionsOf(consumer.model), [1, 2]);
});

test('if a backend changes during a snapshot, its record is sent again after its mark', () => {
  const node = new NodeUnderTest();
  const consumer = node.consumer('snapshot=1', { capacity: 0 });
  node.publish([node.world.backend('audio', 'up')]);
  const events = node.received(consumer);
  // The detail "snapshot" makes an event a mark.
  assert.match(events[0] ?? '', /"audio","state":"up","detail":"snapshot"/);
  assert.match(events.at(-1) ?? '', /"audio","state":"up"}/);
});

test('a slow consumer gets a new player as player.added, however often the player has changed meanwhile', () => {
  const node = new NodeUnderTest();
  const consumer = node.consumer('', { capacity: 0 });
  const publishPlayer = (rate: number) => node.publish([[put('players', 'mpv', { bus_name: 'mpv', rate })]]);
  publishPlayer(1);
  publishPlayer(2);
  const typesReceived = (): readonly string[] =>
    node.received(consumer).map((line) => line.split(' ')[1] ?? '');
  assert.deepEqual(typesReceived(), ['player.added']);
  publishPlayer(3);
  node.publish([[drop('players', 'mpv')]]);
  publishPlayer(4);
  publishPlayer(5);
  assert.deepEqual(typesReceived().slice(-2), ['player.removed', 'player.added']);
  assert.equal(consumer.model.known.players.get('mpv')?.rate, 5);
});
