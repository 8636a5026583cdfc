// Compares the states of consumers with the true state of the node, after random changes. Consumers of every
// speed break off and reconnect at any byte, ids expire, and the journal forgets changes that the consumers
// have not read. In the end every consumer has the true state.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BACKEND_STATES, BACKENDS } from '../../../src/protocol/actor/backends.js';
import type { Collection } from '../../../src/protocol/actor/collections.js';
import type { Change } from '../../../src/protocol/actor/messages.js';
import { SEED, SeededRandom } from '../../seeded-random.js';
import { NodeUnderTest } from './node-under-test.js';
import type { NodeWorld } from './node-world.js';
import { SimulatedConsumer } from './simulated-consumer.js';

/** An id that the node has sent. The ids that `reconnect` invents do not match. */
const REAL_ID = /^b-[1-9]\d{0,5}$/;
/** There are only a few names, so that they are used again, also under other keys. */
const NAMES = ['Spotify', 'mpv', 'a movie'];
const NAMED_FILTER = 'types=audio.updated,audio.removed,audio.output.updated,audio.output.removed';
const ACTIONS_FILTER = 'types=upgrade.progress,power.action';
interface Filter {
  readonly filter: string;
  /** True if all records that have names pass the filter. */
  readonly hasNames: boolean;
  /** True if all actions pass the filter. */
  readonly hasActions: boolean;
}
const FILTERS: readonly Filter[] = [
  { filter: NAMED_FILTER, hasNames: true, hasActions: false },
  { filter: 'backend=audio&exclude=backend.updated', hasNames: true, hasActions: false },
  { filter: 'exclude=backend.updated', hasNames: true, hasActions: true },
  { filter: ACTIONS_FILTER, hasNames: false, hasActions: true },
  { filter: `${NAMED_FILTER},upgrade.progress,power.action`, hasNames: true, hasActions: true },
];
const TEXTS = ['plain', 'é☕🎵', 'a\r\nid: 9-9\n\ndata: x', '\u2028\0\ufeff', '\ud800'];
const COLLECTIONS_WITH_KEYS = ['audio.clients', 'audio.outputs', 'systemd.services'] as const;

/** The kind of changes in a round, and what the journal keeps of them. */
interface Storm {
  /** At most this many characters are added to a record. */
  readonly padding: number;
  /** The chance that a batch is a burst. */
  readonly burstChance: number;
  /** The largest number of changes in a burst. */
  readonly burstMax: number;
  /** The chance that more removals follow a batch than the journal keeps. */
  readonly floodChance: number;
  /**
   * True if the journal keeps all removals of a consumer's absence. Otherwise only the marks of a snapshot
   * make the consumer forget the removed records.
   */
  readonly areRemovalsKept: boolean;
  /** If a consumer misses at most this many actions, the journal certainly keeps all of them. */
  readonly actionsKept: number;
}

interface ChangeOptions extends Storm {
  readonly random: SeededRandom;
}

/** The journal keeps this many removals, and this many actions (docs/events.md, "Coming back"). */
const KEPT = 1024;
const CALM: Storm = {
  padding: 60,
  burstChance: 0,
  burstMax: 1,
  floodChance: 0,
  areRemovalsKept: true,
  actionsKept: KEPT,
};
/** Consumers may fall so far behind in a burst that the journal forgets what they have not read. */
const BURSTS: Storm = { ...CALM, burstChance: 0.03, burstMax: 1200 };
const FLOODED: Storm = { ...CALM, floodChance: 0.1, areRemovalsKept: false };
/** Large records reach the journal's limit of bytes, so any removal or action may be forgotten. */
const LARGE: Storm = {
  padding: 20_000,
  burstChance: 0.03,
  burstMax: 150,
  floodChance: 0,
  areRemovalsKept: false,
  actionsKept: 0,
};
/** The largest number of changes in a batch that is no burst. */
const ORDINARY_BATCH_MAX = 5;
/** More than the consumers of a round, so that no stream is refused. */
const STREAMS_MAX = 20;

function someFields({ random, padding }: ChangeOptions): object {
  const text = random.pick(TEXTS);
  const volume = random.below(100) / 100;
  return { text, volume, pad: 'x'.repeat(random.below(padding + 1)) };
}

/**
 * A live record keeps its name. Any other record gets a name that no live record has (docs/http-api.md,
 * "Names of clients").
 */
function nameOf(key: string, usedNames: Map<string, string>, random: SeededRandom): string {
  const currentName = usedNames.get(key);
  if (currentName !== undefined) return currentName;
  const free = NAMES.filter((name) => ![...usedNames.values()].includes(name));
  // The index may be beyond the free names. Then the record is named after its key.
  const name = free[random.below(NAMES.length)] ?? `stream #${key}`;
  usedNames.set(key, name);
  return name;
}

/**
 * Some clients get other names, perhaps each other's. Their records are removed under the old names first
 * (docs/http-api.md, "Names of clients").
 */
function renaming(world: NodeWorld, options: ChangeOptions): readonly Change[] {
  const renamed = [...world.records('audio.clients').keys()].filter(() => options.random.chance(0.4));
  const removal = world.drop('audio.clients', ...renamed);
  const records = namedRecords(world, 'audio.clients', renamed, options);
  return [...removal, ...world.put('audio.clients', ...records)];
}

function namedRecords(
  world: NodeWorld,
  collection: Collection,
  keys: readonly string[],
  options: ChangeOptions,
): readonly (readonly [string, object])[] {
  const usedNames = new Map(
    [...world.records(collection)].map(([key, record]) => [key, (record as { name: string }).name]),
  );
  return keys.map((key) => {
    const name = nameOf(key, usedNames, options.random);
    return [key, { id: Number(key), name, ...someFields(options) }] as const;
  });
}

function anyChange(world: NodeWorld, options: ChangeOptions): readonly Change[] {
  const { random } = options;
  // The choices 7 to 10 all change records, so these changes are the most frequent.
  const choice = random.below(11);
  if (choice === 0) return world.action('power.action', someFields(options));
  if (choice <= 2) return world.action('upgrade.progress', someFields(options));
  if (choice === 3) return world.put('upgrade.info', ['run', { state: 'running', ...someFields(options) }]);
  if (choice === 4) return world.put('upgrade.info', ['status', { current: '1', ...someFields(options) }]);
  if (choice === 5) return world.backend(random.pick(BACKENDS), random.pick(BACKEND_STATES));
  if (choice === 6) return renaming(world, options);
  return recordChange(world, options);
}

function recordChange(world: NodeWorld, options: ChangeOptions): readonly Change[] {
  const { random } = options;
  const collection = random.pick(COLLECTIONS_WITH_KEYS);
  const isNamed = collection !== 'systemd.services';
  const live = [...world.records(collection).keys()];
  // Units are rarely removed, because the removal of a unit has no event: streams read a snapshot instead.
  if (live.length > 0 && random.chance(isNamed ? 0.4 : 0.02)) {
    return world.drop(collection, ...live.filter(() => random.chance(0.5)).slice(0, 3));
  }
  const first = random.below(6);
  const count = isNamed ? 1 + random.below(3) : 1;
  const keys = Array.from({ length: count }, (_, index) => String(first + index));
  if (isNamed) return world.put(collection, ...namedRecords(world, collection, keys, options));
  const records = keys.map((key) => [key, { scope: 'user', name: key, ...someFields(options) }] as const);
  return world.put(collection, ...records);
}

function publishBatch(node: NodeUnderTest, options: ChangeOptions): void {
  const { random, burstChance, burstMax, floodChance } = options;
  const sizeMax = random.chance(burstChance) ? burstMax : ORDINARY_BATCH_MAX;
  const size = 1 + random.below(sizeMax);
  node.publish(Array.from({ length: size }, () => anyChange(node.world, options)));
  if (!random.chance(floodChance)) return;
  // Readers know the records that are removed here. The unrelated removals then make the journal forget
  // these removals.
  for (const collection of ['audio.clients', 'audio.outputs'] as const)
    node.publish([node.world.drop(collection, ...node.world.records(collection).keys())]);
  node.publishUnrelatedRemovals(KEPT + 1);
}

/** A random limit for the unread bytes of a connection. */
function someCapacity(random: SeededRandom): number {
  return random.chance(0.2) ? Number.POSITIVE_INFINITY : random.below(6000);
}

/**
 * A consumer that ignores marks cannot see that a snapshot begins. Without an id it surely gets a snapshot,
 * so it forgets its records before it opens the stream.
 */
function reconnectIgnoringMarks(consumer: SimulatedConsumer, random: SeededRandom): void {
  consumer.connection.breakOff();
  if (consumer.lastEventId === '') consumer.names.clear();
  consumer.open('snapshot=1', someCapacity(random));
}

function reconnect(consumer: SimulatedConsumer, random: SeededRandom): void {
  consumer.connection.breakOff();
  if (REAL_ID.test(consumer.lastEventId) && random.chance(0.1))
    consumer.setLastEventId(random.pick(['other-5', 'b-999999999', 'rubbish', 'b-0']));
  // A consumer without an id must request a snapshot. Any other consumer may request one, too: the node
  // ignores `snapshot=1` if it can use the consumer's id.
  const query = consumer.lastEventId === '' || random.chance(0.3) ? 'snapshot=1' : '';
  consumer.open(query, someCapacity(random));
}

function readOrReconnect(consumer: SimulatedConsumer, random: SeededRandom, reopen = reconnect): void {
  if (!consumer.isOpen || random.chance(0.05)) reopen(consumer, random);
  else if (random.chance(0.5)) consumer.read(random.chance(0.2) ? undefined : random.below(3000));
}

function readToTheEnd(consumer: SimulatedConsumer, random: SeededRandom, reopen = reconnect): void {
  consumer.readAll();
  if (!consumer.isOpen) {
    reopen(consumer, random);
    consumer.readAll();
  }
}

/** Returns the number of slow consumers that got a second snapshot. */
function runRound(seed: number, storm: Storm): number {
  const random = new SeededRandom(seed);
  const options = { random, ...storm };
  const node = new NodeUnderTest(STREAMS_MAX, () => random.next());
  const { world, hub, clock } = node;
  const { actionsKept } = storm;
  const quick = new SimulatedConsumer(hub, world);
  quick.open('snapshot=1');
  const slow = [1, 2, 3].map(() => new SimulatedConsumer(hub, world, { actionsKept }));
  for (const consumer of slow) consumer.open('snapshot=1', someCapacity(random));
  const ignoringMarks = new SimulatedConsumer(hub, world, {
    filter: NAMED_FILTER,
    heedsMarks: false,
    actionsKept,
  });
  const chosen = FILTERS.filter(() => random.chance(0.4));
  const filtered = chosen.map(({ filter }) => new SimulatedConsumer(hub, world, { filter, actionsKept }));
  for (const consumer of [ignoringMarks, ...filtered]) consumer.open('snapshot=1', someCapacity(random));

  for (let step = 20 + random.below(100); step > 0; step -= 1) {
    publishBatch(node, options);
    quick.readAll();
    for (const consumer of [...slow, ...filtered]) readOrReconnect(consumer, random);
    readOrReconnect(ignoringMarks, random, reconnectIgnoringMarks);
    if (random.chance(0.05)) clock.advance(random.below(60_000));
  }

  for (const consumer of [...slow, ...filtered]) readToTheEnd(consumer, random);
  readToTheEnd(ignoringMarks, random, reconnectIgnoringMarks);

  if (storm.areRemovalsKept) assert.deepEqual(ignoringMarks.names.state(), world.expectedStateByName());
  for (const [index, { hasNames, hasActions }] of chosen.entries()) {
    if (hasNames) assert.deepEqual(filtered[index]?.names.state(), world.expectedStateByName());
    if (hasActions) filtered[index]?.checkNoActionMissing();
  }
  for (const consumer of [quick, ...slow]) {
    assert.ok(consumer.isOpen);
    assert.deepEqual(consumer.model.state(), world.expectedState());
    assert.deepEqual(consumer.names.state(), world.expectedStateByName());
    consumer.checkNoActionMissing();
  }

  // The first snapshot is left out. It has only a mark of each backend, because there were no records then.
  const laterEvents = quick.events.filter(({ type }) => type !== 'server.info').slice(BACKENDS.length);
  const sequences = laterEvents.map(({ lastEventId }) => Number(lastEventId.slice('b-'.length)));
  const sorted = [...sequences].sort((a, b) => a - b);
  // An event without an id of its own has the id of an earlier event, so an id may come again.
  assert.deepEqual(sequences, sorted, 'ids never go back');
  // The first snapshot has one mark for each backend. Further marks are those of a second snapshot.
  return slow.filter(({ model }) => model.marks > BACKENDS.length).length;
}

/** Returns how many slow consumers got a second snapshot, in all rounds together. */
function runRounds(rounds: number, storm: Storm): number {
  let secondSnapshots = 0;
  for (let seed = SEED; seed < SEED + rounds; seed += 1) {
    try {
      secondSnapshots += runRound(seed, storm);
    } catch (error) {
      throw new Error(`seed ${seed}`, { cause: error });
    }
  }
  return secondSnapshots;
}

test(`after many random changes every consumer has the state of the node (TONEARM_FUZZ_SEED=${SEED})`, () => {
  runRounds(150, CALM);
});

test(`after random changes with expiring ids every consumer has the state of the node (TONEARM_FUZZ_SEED=${SEED})`, () =>
  assert.ok(runRounds(30, BURSTS) > 0, 'some consumer got a second snapshot'));

test(`after random changes with forgotten removals every consumer has the state of the node (TONEARM_FUZZ_SEED=${SEED})`, () => {
  runRounds(3, FLOODED);
});

test(`after random changes of large records every consumer has the state of the node (TONEARM_FUZZ_SEED=${SEED})`, () => {
  runRounds(3, LARGE);
});
