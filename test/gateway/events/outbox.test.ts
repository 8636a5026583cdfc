// The outbox against all short histories: wherever its consumer breaks off, what it was sent and what the ring replays
// after the last id make the true state, and every action is heard once and in order.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Batch } from '../../../src/gateway/events/batch.js';
import { encode, eventId, frame, reachedIn } from '../../../src/gateway/events/encode.js';
import { bitsOf, filterOf } from '../../../src/gateway/events/filter.js';
import type { Occurrence } from '../../../src/gateway/events/occurrence.js';
import { Outbox } from '../../../src/gateway/events/outbox.js';
import { dataOf, partsOf } from '../../../src/gateway/events/parts.js';
import { type SnapshotContents, snapshotOf } from '../../../src/gateway/events/snapshot.js';
import { NamesHeld } from '../../consumer/names-held.js';
import { EventStreamParser } from '../../consumer/parser.js';
import { StateModel } from '../../consumer/state-model.js';
import { NodeWorld } from './node-world.js';

/** So long that a record holding it has no room in a list with others. */
const LONG = 'x'.repeat(64 * 1024);
const EVERYTHING = filterOf(() => true);

interface Told {
  readonly type: string;
  readonly data: string;
  readonly id: string;
}

/** A history with its batches and its frames, as a hub would make them. */
class FramedHistory {
  readonly world = new NodeWorld();
  readonly told: Told[] = [];

  batch(...occurrences: readonly Occurrence[]): Batch {
    const publications = occurrences.flatMap(partsOf).map((part) => {
      const sequence = this.told.length + 1;
      const data = dataOf(
        part.listed,
        part.items.map(({ json }) => json),
      );
      const id = eventId('b', sequence);
      this.told.push({ type: part.type, data, id });
      const framed = {
        sequence,
        bits: bitsOf(part.type, part.backend),
        frame: encode(frame(part.type, data, id)),
      };
      return { event: framed, part };
    });
    return new Batch(publications);
  }
}

function contents(world: NodeWorld): SnapshotContents {
  return { actions: [], removals: [], state: world.snapshot() };
}

function heard(bytes: Uint8Array | undefined): readonly Told[] {
  const told: Told[] = [];
  const parser = new EventStreamParser(({ type, data, lastEventId }) =>
    told.push({ type, data, id: lastEventId }),
  );
  parser.feed(bytes ?? new Uint8Array());
  return told;
}

let version = 0;
/** A client with the name that it has for its life. */
const client = (world: NodeWorld, id: number): readonly [string, object] => {
  version += 1;
  const name = world.names('audio.clients').get(String(id)) ?? `client ${version}`;
  return [String(id), { id, name, version }];
};

/** Everything that can happen to two records and an action. Undefined: it cannot happen now. */
const STEPS: readonly ((world: NodeWorld) => Occurrence | undefined)[] = [
  (world) => world.put('audio.clients', client(world, 1), client(world, 2)),
  (world) => world.put('audio.clients', client(world, 1)),
  (world) => (world.keys('audio.clients').includes('1') ? world.drop('audio.clients', '1') : undefined),
  (world) =>
    world.keys('audio.clients').length > 0
      ? world.drop('audio.clients', ...world.keys('audio.clients'))
      : undefined,
  (world) => world.put('upgrade.run', ['', { state: 'running', version }]),
  (world) => world.action('upgrade.progress'),
];

function* histories(length: number): Generator<readonly number[]> {
  if (length === 0) yield [];
  else for (const rest of histories(length - 1)) for (const step of STEPS.keys()) yield [...rest, step];
}

/** Breaks off after each event of `sent` in turn and resumes from the id reached. `before`: what was sent in full earlier. */
function checkEveryBreak(history: FramedHistory, before: readonly Told[], sent: readonly Told[]): void {
  for (let read = 0; read <= sent.length; read += 1) {
    const model = new StateModel();
    const names = new NamesHeld();
    const all = [...before, ...sent.slice(0, read)];
    const last = reachedIn(all.at(-1)?.id ?? '', 'b')?.states ?? 0;
    for (const told of [...all, ...history.told.slice(last)]) {
      model.apply(told);
      names.apply(told);
    }
    assert.deepEqual(names.state(), history.world.namesTruth());
    assert.deepEqual(model.state(), { ...history.world.truth(), backends: {} });
    const numbers = model.actions.map(([, data]) => (JSON.parse(data) as { readonly n: number }).n);
    assert.deepEqual(
      numbers,
      Array.from({ length: history.world.actions }, (_, index) => index + 1),
    );
  }
}

function checkHistory(steps: readonly number[], flushAt: number): void {
  const history = new FramedHistory();
  const outbox = new Outbox('b');
  let before: readonly Told[] = [];
  steps.forEach((step, index) => {
    if (index === flushAt) before = heard(outbox.take());
    const occurrence = STEPS[step]?.(history.world);
    if (occurrence !== undefined) assert.ok(outbox.add(history.batch(occurrence), EVERYTHING));
  });
  const sent = heard(outbox.take());
  assert.ok(outbox.drained);
  assert.equal(outbox.bytes, 0);
  checkEveryBreak(history, before, sent);
}

test('a consumer that breaks off anywhere misses nothing: all histories of up to 5 steps', () => {
  for (let length = 1; length <= 5; length += 1) {
    for (const steps of histories(length)) {
      try {
        for (let flushAt = 0; flushAt < Math.min(length, 3); flushAt += 1) checkHistory(steps, flushAt);
      } catch (error) {
        throw new Error(`history ${steps.join(' ')}`, { cause: error });
      }
    }
  }
});

/** What happens while nobody reads, and what is heard then: type and the interesting half of the data. */
const CONFLATIONS: readonly [
  name: string,
  happen: (world: NodeWorld) => readonly Occurrence[],
  heard: readonly string[],
][] = [
  [
    'the newest state of a record wins',
    (world) => [1, 2, 3].map((v) => world.put('audio.clients', ['1', { id: 1, v }])),
    ['b-3 audio.updated [{"id":1,"v":3}]'],
  ],
  [
    'a removal is not lost',
    (world) => [world.put('audio.clients', ['1', { id: 1 }]), world.drop('audio.clients', '1')],
    ['b-2 audio.removed [{"id":1}]'],
  ],
  [
    'what comes back after its removal is there, and its removal is told before',
    (world) => [
      world.put('audio.clients', ['1', { id: 1, v: 1 }]),
      world.drop('audio.clients', '1'),
      world.put('audio.clients', ['1', { id: 1, v: 2 }]),
    ],
    ['b-2 audio.removed [{"id":1,"v":1}]', 'b-3 audio.updated [{"id":1,"v":2}]'],
  ],
  [
    'of records that had one key after the other every removal is told',
    (world) => [
      world.put('audio.clients', ['0', { id: 0, name: 'Spotify' }]),
      world.drop('audio.clients', '0'),
      world.put('audio.clients', ['0', { id: 0, name: 'mpv' }]),
      world.drop('audio.clients', '0'),
      world.put('audio.clients', ['0', { id: 0, name: 'Kodi' }]),
    ],
    [
      'b-4 audio.removed [{"id":0,"name":"Spotify"},{"id":0,"name":"mpv"}]',
      'b-5 audio.updated [{"id":0,"name":"Kodi"}]',
    ],
  ],
  [
    'a removal in the same words is told once, at its latest place',
    (world) =>
      [1, 2, 3].flatMap(() => [
        world.put('audio.clients', ['0', { id: 0, name: 'mpv' }]),
        world.drop('audio.clients', '0'),
      ]),
    ['b-6 audio.removed [{"id":0,"name":"mpv"}]'],
  ],
  [
    'records of one kind leave as one list',
    (world) => [
      world.put('audio.outputs', ['1', { id: 1 }], ['2', { id: 2 }]),
      world.put('audio.outputs', ['3', { id: 3 }]),
    ],
    ['b-2 audio.output.updated [{"id":1},{"id":2},{"id":3}]'],
  ],
  [
    'an id is not told before all of its event is',
    (world) => [world.put('audio.outputs', ['1', { id: 1 }], ['2', { id: 2, pad: LONG }])],
    ['b-0 audio.output.updated [{"id":1}]', `b-1 audio.output.updated [{"id":2,"pad":"${LONG}"}]`],
  ],
  [
    'who has a part of an event only has the id of the event before it, and is replayed the whole',
    (world) => [
      world.action('power.action'),
      world.action('power.action'),
      world.put('audio.outputs', ['1', { id: 1 }], ['2', { id: 2, pad: LONG }], ['3', { id: 3 }]),
    ],
    [
      'b-1 power.action {"n":1}',
      'b-2 power.action {"n":2}',
      'b-2 audio.output.updated [{"id":1}]',
      `b-2 audio.output.updated [{"id":2,"pad":"${LONG}"}]`,
      'b-3 audio.output.updated [{"id":3}]',
    ],
  ],
  [
    'actions are all told, in order, and states around them at their latest place',
    (world) => [
      world.put('upgrade.run', ['', { state: 'running' }]),
      world.action('upgrade.progress'),
      world.action('upgrade.progress'),
      world.put('upgrade.run', ['', { state: 'idle' }]),
      world.action('power.action'),
    ],
    [
      'b-2 upgrade.progress {"n":1}',
      'b-3 upgrade.progress {"n":2}',
      'b-4 upgrade.info {"state":"idle"}',
      'b-5 power.action {"n":3}',
    ],
  ],
  [
    'two collections that share an event type are told apart',
    (world) => [
      world.put('upgrade.run', ['', { state: 'idle' }]),
      world.put('upgrade.status', ['', { current: '1' }]),
      world.put('upgrade.run', ['', { state: 'running' }]),
    ],
    ['b-2 upgrade.info {"current":"1"}', 'b-3 upgrade.info {"state":"running"}'],
  ],
  [
    'backends are conflated each for itself',
    (world) => [
      world.backend('audio', 'restarting'),
      world.backend('power', 'up'),
      world.backend('audio', 'up'),
    ],
    [
      'b-2 backend.updated {"backend":"power","state":"up"}',
      'b-3 backend.updated {"backend":"audio","state":"up"}',
    ],
  ],
];
for (const [name, happen, expected] of CONFLATIONS) {
  test(name, () => {
    const history = new FramedHistory();
    const outbox = new Outbox('b');
    outbox.add(history.batch(...happen(history.world)), EVERYTHING);
    const told: Told[] = [];
    for (let bytes = outbox.take(); bytes !== undefined; bytes = outbox.take()) told.push(...heard(bytes));
    assert.deepEqual(
      told.map(({ type, data, id }) => `${id} ${type} ${data}`),
      expected,
    );
  });
}

test('a snapshot shows its id only when all of it is told, and is no heavier for being large', () => {
  const world = new NodeWorld();
  for (let id = 0; id < 20; id += 1)
    world.put('audio.clients', [String(id), { id, pad: 'x'.repeat(100_000) }]);
  const outbox = new Outbox('b', snapshotOf(contents(world), 7, EVERYTHING));
  assert.equal(outbox.bytes, 0);
  const told: Told[] = [];
  for (let bytes = outbox.take(); bytes !== undefined; bytes = outbox.take()) {
    assert.ok(bytes.byteLength < 200_000, 'portions are small');
    told.push(...heard(bytes));
  }
  assert.deepEqual([...new Set(told.slice(0, -1).map(({ id }) => id))], ['b-0.7']);
  assert.equal(told.at(-1)?.id, 'b-7');
});

test('a live change of a backend does not take the place of the marker that begins its snapshot', () => {
  const history = new FramedHistory();
  const outbox = new Outbox('b', snapshotOf(contents(history.world), 0, EVERYTHING));
  outbox.add(history.batch(history.world.backend('audio', 'up')), EVERYTHING);
  const told = heard(outbox.take()).map(({ data }) => data);
  assert.equal(told[0], '{"backend":"audio","state":"connecting","detail":"snapshot"}');
  assert.equal(told.at(-1), '{"backend":"audio","state":"up"}');
});

test('a removal that a snapshot begins with is told, though its key is in use again', () => {
  const world = new NodeWorld();
  world.put('audio.clients', ['0', { id: 0, name: 'Spotify' }]);
  const removals = partsOf(world.drop('audio.clients', '0'));
  world.put('audio.clients', ['0', { id: 0, name: 'mpv' }]);
  const outbox = new Outbox('b', snapshotOf({ ...contents(world), removals }, 3, EVERYTHING));
  const told = heard(outbox.take()).filter(({ type }) => type.startsWith('audio'));
  assert.deepEqual(
    told.map(({ type, data }) => `${type} ${data}`),
    ['audio.removed [{"id":0,"name":"Spotify"}]', 'audio.updated [{"id":0,"name":"mpv"}]'],
  );
});

test('the removals of one key are bounded like all that waits', () => {
  const history = new FramedHistory();
  const outbox = new Outbox('b');
  const comesAndGoes = (): boolean =>
    [
      history.world.put('audio.clients', client(history.world, 1)),
      history.world.drop('audio.clients', '1'),
    ].every((occurrence) => outbox.add(history.batch(occurrence), EVERYTHING));
  let waiting = 0;
  while (waiting < 16_384 && comesAndGoes()) {
    waiting += 1;
    assert.ok(outbox.bytes <= 1024 * 1024);
  }
  assert.ok(waiting > 1000 && waiting < 16_384, `${waiting} removals`);
});

test('a removal weighs its words twice, since the place that it waits in holds them too', () => {
  const history = new FramedHistory();
  const outbox = new Outbox('b');
  const comesAndGoes = (): boolean => {
    const [key, record] = client(history.world, 1);
    const put = history.world.put('audio.clients', [key, { ...record, pad: 'x'.repeat(10_000) }]);
    const drop = history.world.drop('audio.clients', '1');
    return [put, drop].every((occurrence) => outbox.add(history.batch(occurrence), EVERYTHING));
  };
  let waiting = 0;
  while (comesAndGoes()) waiting += 1;
  assert.ok(waiting > 45 && waiting < 53, `${waiting} removals of 10 kB`);
});

test('1 MiB of actions is more than may wait; a million changes of one record are not', () => {
  const history = new FramedHistory();
  const outbox = new Outbox('b');
  for (let times = 0; times < 5000; times += 1) {
    assert.ok(
      outbox.add(
        history.batch(history.world.put('audio.clients', ['1', { id: 1, pad: 'x'.repeat(1000) }])),
        EVERYTHING,
      ),
    );
  }
  assert.ok(outbox.bytes < 2000);
  let waiting = 0;
  while (
    outbox.add(
      history.batch(history.world.action('upgrade.progress', { pad: 'x'.repeat(9_900) })),
      EVERYTHING,
    )
  ) {
    waiting += 1;
    assert.ok(outbox.bytes <= 1024 * 1024);
  }
  assert.ok(waiting > 100 && waiting < 106, `${waiting} lines of 10 kB`);
});

test('the tiniest events are bounded too', () => {
  const history = new FramedHistory();
  const outbox = new Outbox('b');
  let waiting = 0;
  while (outbox.add(history.batch(history.world.action('power.action')), EVERYTHING)) waiting += 1;
  assert.ok(waiting < 16_384);
});
