// Consumers that do not keep up, in all short histories: wherever one breaks off, the events before and those replayed after its last id
// give the true state, and every action arrives once and in order. The amount of waiting data is limited.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Change } from '../../../src/protocol/actor/messages.js';
import { NamesHeld } from '../../consumer/names-held.js';
import { StateModel } from '../../consumer/state-model.js';
import { drop, put } from '../scripted-backends.js';
import { actionsOf, NodeUnderTest, numbers } from './node-under-test.js';
import type { NodeWorld } from './node-world.js';
import { SimulatedConsumer } from './simulated-consumer.js';

/** So long that a record with it does not fit into a list with others. */
const LONG = 'x'.repeat(64 * 1024);

let version = 0;
/** A client that keeps the same name for its whole life. */
const client = (world: NodeWorld, id: number) => {
  version += 1;
  const name = world.names('audio.clients').get(String(id)) ?? `client ${version}`;
  return { id, name, version };
};

/** Everything that can happen to two records and an action. Undefined: the step is impossible in this state. */
const STEPS: readonly ((world: NodeWorld) => readonly Change[] | undefined)[] = [
  (world) => world.clients(client(world, 1), client(world, 2)),
  (world) => world.clients(client(world, 1)),
  (world) => (world.keys('audio.clients').includes('1') ? world.drop('audio.clients', '1') : undefined),
  (world) =>
    world.keys('audio.clients').length > 0
      ? world.drop('audio.clients', ...world.keys('audio.clients'))
      : undefined,
  (world) => world.put('upgrade.info', ['run', { state: 'running', version }]),
  (world) => world.action('upgrade.progress'),
];

function* histories(length: number): Generator<readonly number[]> {
  if (length === 0) yield [];
  else for (const rest of histories(length - 1)) for (const step of STEPS.keys()) yield [...rest, step];
}

/** Breaks off after each event in turn, and reconnects with the id at that moment. */
function checkEveryBreak(node: NodeUnderTest, sent: SimulatedConsumer['events']): void {
  const { world } = node;
  for (let read = 1; read <= sent.length; read += 1) {
    const model = new StateModel();
    const names = new NamesHeld();
    const back = new SimulatedConsumer(node.hub, world);
    back.pretend(sent[read - 1]?.lastEventId ?? '');
    back.open('snapshot=1');
    back.readAll();
    for (const told of [...sent.slice(0, read), ...back.events.slice(1)]) {
      model.apply(told);
      names.apply(told);
    }
    assert.deepEqual(names.state(), world.namesTruth());
    assert.deepEqual({ ...model.state(), backends: {} }, { ...world.truth(), backends: {} });
    assert.deepEqual(actionsOf(model), numbers(1, world.actions));
  }
}

/** The slow consumer reads all waiting events before step `readAt`, and at the end. */
function checkHistory(steps: readonly number[], readAt: number): void {
  const node = new NodeUnderTest();
  const slow = node.consumer('', 0, 'b-0');
  steps.forEach((step, index) => {
    if (index === readAt) slow.readAll();
    node.publish([STEPS[step]?.(node.world) ?? []]);
  });
  slow.readAll();
  // The first event is the greeting; its id is the one with which the stream was opened.
  checkEveryBreak(node, slow.events);
}

test('a consumer that breaks off anywhere misses nothing: all histories of up to 4 steps', () => {
  for (let length = 1; length <= 4; length += 1) {
    for (const steps of histories(length)) {
      try {
        for (let readAt = 0; readAt < Math.min(length, 3); readAt += 1) checkHistory(steps, readAt);
      } catch (error) {
        throw new Error(`history ${steps.join(' ')}`, { cause: error });
      }
    }
  }
});

/** Changes while nobody reads, and the events that are sent afterwards: type and the relevant part of the data. */
const CONFLATIONS: readonly [
  name: string,
  happen: (world: NodeWorld) => readonly (readonly Change[])[],
  heard: readonly string[],
][] = [
  [
    'records of one kind leave as one list',
    (world) => [world.outputs({ id: 1 }, { id: 2 }), world.outputs({ id: 3 })],
    ['b-3 audio.output.updated [{"id":1},{"id":2},{"id":3}]'],
  ],
  [
    'records that are too large for one list leave as several, each with the id that is reached with it',
    (world) => [world.outputs({ id: 1 }, { id: 2, pad: LONG }, { id: 3 })],
    [`b-2 audio.output.updated [{"id":1},{"id":2,"pad":"${LONG}"}]`, 'b-3 audio.output.updated [{"id":3}]'],
  ],
  [
    'actions are all sent, in order, and states around them at their latest place',
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
for (const [name, happen, expected] of CONFLATIONS) {
  test(name, () => {
    const node = new NodeUnderTest();
    const consumer = node.consumer('', 0);
    node.publish(happen(node.world));
    assert.deepEqual(node.heard(consumer), expected);
  });
}

test('a snapshot has its id only at its end, and a large one takes no more memory', () => {
  const node = new NodeUnderTest();
  for (let id = 0; id < 20; id += 1) {
    node.publish([node.world.clients({ id, pad: 'x'.repeat(100_000) })]);
  }
  const consumer = node.consumer('snapshot=1', 0);
  while (consumer.connection.buffered > 0) {
    assert.ok(consumer.connection.buffered < 200_000, 'portions are small');
    consumer.read();
  }
  const ids = consumer.events.slice(1).map(({ lastEventId }) => lastEventId);
  assert.equal(new Set(ids.slice(0, -1)).size, 1);
  assert.equal(ids[0], '');
  assert.match(ids.at(-1) ?? '', /^b-/);
  assert.deepEqual(consumer.model.state(), node.world.truth());
});

test('what happens while the last portion waits to be written follows it', () => {
  const node = new NodeUnderTest();
  const consumer = node.consumer('', 0);
  node.progress(1, { pad: LONG });
  // The greeting is read, and the portion is written.
  consumer.read(consumer.connection.buffered);
  node.progress(1);
  consumer.readAll();
  assert.deepEqual(actionsOf(consumer.model), [1, 2]);
});

test('a change of a backend during its snapshot follows the mark', () => {
  const node = new NodeUnderTest();
  const consumer = node.consumer('snapshot=1', 0);
  node.publish([node.world.backend('audio', 'up')]);
  const told = node.heard(consumer);
  assert.match(told[0] ?? '', /"audio","state":"up","detail":"snapshot"/);
  assert.match(told.at(-1) ?? '', /"audio","state":"up"}/);
});

test('an addition that waits stays an addition, however it changes meanwhile', () => {
  const node = new NodeUnderTest();
  const consumer = node.consumer('', 0);
  const player = (n: number) => node.publish([[put('players', 'mpv', { bus_name: 'mpv', n })]]);
  player(1);
  player(2);
  const types = (): readonly string[] => node.heard(consumer).map((line) => line.split(' ')[1] ?? '');
  assert.deepEqual(types(), ['player.added']);
  player(3);
  node.publish([[drop('players', 'mpv')]]);
  player(4);
  player(5);
  assert.deepEqual(types().slice(-2), ['player.removed', 'player.added']);
  assert.equal(consumer.model.players.get('mpv')?.['n'], 5);
});
