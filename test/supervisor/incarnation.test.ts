// One thread: how its silence is judged, and how much it may send; when a dead child is started again
// (docs/http-api.md, "Backends that are away"), how its death is reported in one line, and how long all may
// take to stop. test/crash has the life of a child with real threads.

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { MessagePort } from 'node:worker_threads';
import type { FromActor } from '../../src/protocol/actor/messages.js';
import { HEARTBEAT, Incarnation, needsPing, reasonToKill } from '../../src/supervisor/incarnation.js';
import { CHILDREN, RESTARTS, restartAfterDeath, SHUTDOWN, stopTimeMs } from '../../src/supervisor/policy.js';
import { deathOf } from '../../src/supervisor/threads.js';
import { ManualClock } from '../manual-clock.js';
import { until } from '../until.js';

test('a thread is pinged every 30 s, and when it is idle every 5 minutes', () =>
  assert.deepEqual(HEARTBEAT, { everyMs: 30_000, pongWithinMs: 10_000, idleBeats: 10 }));

const ROWS: readonly (readonly [utilization: number | undefined, missed: number, verdict: string])[] = [
  [1, 0, 'hung: busy and no answer to a ping for 10 s'],
  [0.95, 0, 'hung: busy and no answer to a ping for 10 s'],
  [0.94, 0, 'wait'],
  [0, 0, 'wait'],
  [undefined, 0, 'wait'],
  [1, 1, 'hung: busy and no answer to a ping for 20 s'],
  [0, 1, 'not responding: idle and no answer to a ping for 20 s'],
  [undefined, 1, 'not responding: idle and no answer to a ping for 20 s'],
];
for (const [utilization, missed, expected] of ROWS) {
  test(`utilisation ${utilization}, ${missed} judgements before: ${expected}`, () =>
    assert.equal(reasonToKill(utilization, missed, HEARTBEAT) ?? 'wait', expected));
}

const PING_ROWS: readonly (readonly [utilization: number | undefined, beats: number, pinged: boolean])[] = [
  [1, 1, true],
  [0.01, 1, true],
  [0.009, 1, false],
  [0, 9, false],
  [0, 10, true],
  [undefined, 1, true],
];
for (const [utilization, beats, pinged] of PING_ROWS) {
  test(`utilisation ${utilization}, ${beats} beats since the last ping: ${pinged ? 'a' : 'no'} ping`, () =>
    assert.equal(needsPing(utilization, beats, HEARTBEAT), pinged));
}

/** A thread that sends the texts of the test, all at one time. */
function thread(t: TestContext) {
  const delivered: string[][] = [];
  let speaker: MessagePort | undefined;
  const incarnation = new Incarnation({
    threads: {
      run: (_entry, task) => {
        speaker = task.port;
        const nothing = () => undefined;
        return { ended: new Promise(nothing), kill: nothing, measure: nothing, utilization: nothing };
      },
    },
    actorFile: '',
    settings: {},
    clock: new ManualClock(),
    onBatch: (items) => delivered.push(texts(items)),
    onEnded: () => undefined,
  });
  t.after(() => speaker?.close());
  const post = (...parcels: FromActor[]): void => {
    for (const parcel of parcels) speaker?.postMessage(parcel);
  };
  return { incarnation, delivered, post };
}

const texts = (items: FromActor): string[] => items.map((item) => ('kind' in item ? item.kind : item[2]));
const record = (json: string): FromActor => [[0, '1', json, undefined]];

for (const [killed, title] of [
  [false, 'ends in a storm has handed on all of it'],
  [true, 'is killed in a storm has handed on nothing more'],
] as const) {
  test(`a thread that ${title}`, { timeout: 60_000 }, async (t) => {
    const { incarnation, delivered, post } = thread(t);
    post(record('a'));
    await until('the first text has come', () => delivered.length > 0);
    post(record('b'), record('c'));
    // These messages are taken in, and the turn in which they are has not ended; the next one is not taken
    // in.
    const last = await new Promise<FromActor[]>((resolve) => {
      setImmediate(() => {
        post(record('d'));
        if (killed) incarnation.kill('for a test');
        resolve(incarnation.close());
      });
    });
    assert.deepEqual(last.flatMap(texts), killed ? [] : ['b', 'c', 'd']);
    assert.deepEqual(delivered, [['a']]);
  });
}

/** Times of all deaths, the last one being this death; what is done, and after which wait. */
const DEATHS: readonly (readonly [string, deaths: readonly number[], verdict: string, waitMs: number])[] = [
  ['the sixth at 60 s finds the first forgotten', [0, 1, 2, 3, 4, 60_000], 'restarting', 2000],
  ['a death a minute is always mended at once', [0, 60_000, 120_000, 180_000], 'restarting', 0],
];
for (const [name, deaths, verdict, waitMs] of DEATHS) {
  test(name, () => {
    let history: readonly number[] = [];
    let last: unknown;
    for (const at of deaths) {
      const { deaths: kept, ...decision } = restartAfterDeath(history, at, RESTARTS);
      history = kept;
      last = decision;
    }
    assert.deepEqual(last, { verdict, waitMs });
  });
}

test('the history of deaths is bounded however fast they come', () => {
  let deaths: readonly number[] = [];
  for (let at = 0; at < 1000; at += 1) deaths = restartAfterDeath(deaths, at, RESTARTS).deaths;
  assert.deepEqual(deaths, [994, 995, 996, 997, 998, 999]);
});

test('all deadlines together leave the gateway its share of the 5 s', () => {
  const total = CHILDREN.reduce((sum, { stopWithinMs }) => sum + stopWithinMs, 0);
  assert.ok(total < 4000 && total < SHUTDOWN.childrenMs, `${total} ms`);
});

test('children that have too little time together each get the same part of their own time', () => {
  const rows: readonly [leftMs: number, expectedMs: number][] = [
    [10_000, 500],
    [2_000, 500],
    [1_000, 250],
    [0, 0],
    [-100, 0],
  ];
  for (const [leftMs, expectedMs] of rows) assert.equal(stopTimeMs([500, 250, 1_250], leftMs), expectedMs);
});

const OUT_OF_MEMORY = Object.assign(new Error('Worker terminated due to reaching memory limit'), {
  code: 'ERR_WORKER_OUT_OF_MEMORY',
});

const REASONS: readonly [error: unknown, reason: string][] = [
  [new Error('boom'), 'boom'],
  [new Error('first\nsecond'), 'first'],
  [new TypeError(''), 'TypeError'],
  [new Error('worker exited with code: 7'), 'exit code 7'],
  [OUT_OF_MEMORY, 'out of memory'],
  ['a string', 'threw a string'],
  [undefined, 'threw undefined'],
  [{ an: 'object' }, 'threw [object Object]'],
  [new Error('x'.repeat(500)), `${'x'.repeat(200)}...`],
];
for (const [error, reason] of REASONS) {
  test(`${String(error).slice(0, 60)}: ${reason.slice(0, 30)}`, () =>
    assert.equal(deathOf(error).reason, reason));
}
