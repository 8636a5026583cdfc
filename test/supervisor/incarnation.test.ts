// Tests when a silent thread counts as hanging, and which messages of an ending thread are still handed on.
// Also tests when a dead child is started again (docs/http-api.md, "Backends that are away"), which reason
// is reported for its death, and how long the children may take to stop. test/crash tests real threads.

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { MessagePort } from 'node:worker_threads';
import type { FromActor, PostedItem } from '../../src/protocol/actor/messages.js';
import { HEARTBEAT, Incarnation, needsPing, reasonToKill } from '../../src/supervisor/incarnation.js';
import { CHILDREN, RESTARTS, restartAfterDeath, SHUTDOWN, stopTimeMs } from '../../src/supervisor/policy.js';
import { deathOf } from '../../src/supervisor/threads.js';
import { ManualClock } from '../manual-clock.js';
import { until } from '../until.js';

test('a ping is due after 30 s, or after 5 minutes if the thread is idle or may still load', () =>
  assert.deepEqual(HEARTBEAT, {
    everyMs: 30_000,
    loadMs: 300_000,
    pongWithinMs: 10_000,
    // Ten beats of 30 s are 5 minutes.
    idleBeats: 10,
  }));

/**
 * The verdict `wait` means that there is no reason to kill the thread. The utilization is undefined if the
 * thread could not be started.
 */
const SILENCES: readonly (readonly [
  utilization: number | undefined,
  earlierSilences: number,
  verdict: string,
])[] = [
  [1, 0, 'hung: busy and no answer to a ping for 10 s'],
  [0.95, 0, 'hung: busy and no answer to a ping for 10 s'],
  [0.94, 0, 'wait'],
  [0, 0, 'wait'],
  [undefined, 0, 'wait'],
  [1, 1, 'hung: busy and no answer to a ping for 20 s'],
  [0, 1, 'not responding: idle and no answer to a ping for 20 s'],
  [undefined, 1, 'not responding: idle and no answer to a ping for 20 s'],
];
for (const [utilization, earlierSilences, expected] of SILENCES) {
  test(`a silent thread with utilization ${utilization} and ${earlierSilences} earlier silences gets the verdict "${expected}"`, () =>
    assert.equal(reasonToKill(utilization, earlierSilences, HEARTBEAT) ?? 'wait', expected));
}

const PING_ROWS: readonly (readonly [utilization: number | undefined, beats: number, isPinged: boolean])[] = [
  [1, 1, true],
  [0.01, 1, true],
  [0.009, 1, false],
  [0, 9, false],
  [0, 10, true],
  [undefined, 1, true],
];
for (const [utilization, beats, isPinged] of PING_ROWS) {
  test(`a thread with utilization ${utilization} gets ${isPinged ? 'a' : 'no'} ping ${beats} beats after the previous ping`, () =>
    assert.equal(needsPing(utilization, beats, HEARTBEAT), isPinged));
}

/** Makes an incarnation without a real thread. The test posts the messages of the thread with `post`. */
function threadUnderTest(t: TestContext) {
  const delivered: string[][] = [];
  const clock = new ManualClock();
  let actorPort: MessagePort | undefined;
  const incarnation = new Incarnation({
    threads: {
      run: (_actorFile, task) => {
        actorPort = task.port;
        const nothing = () => undefined;
        return { ended: new Promise(nothing), kill: nothing, measure: nothing, utilization: nothing };
      },
    },
    actorFile: '',
    settings: {},
    clock,
    onBatch: (items) => delivered.push(texts(items)),
    onEnded: () => undefined,
  });
  t.after(() => actorPort?.close());
  const post = (...batches: FromActor[]): void => {
    for (const batch of batches) actorPort?.postMessage(batch);
  };
  return { incarnation, delivered, post, clock };
}

/** The JSON text of a put, or the kind of any other item. */
function textOf(item: PostedItem): string {
  if ('kind' in item) return item.kind;
  const [_collection, _key, json] = item;
  return json;
}
const texts = (items: FromActor): string[] => items.map(textOf);
/** A batch with one put: collection, key, text and rank (`PostedPut`). */
const batchOf = (json: string): FromActor => [[0, '1', json, undefined]];

for (const [isKilled, title] of [
  [false, 'if a thread ends while it sends, all its batches are handed on'],
  [true, 'if a thread is killed while it sends, none of its further batches is handed on'],
] as const) {
  test(title, { timeout: 60_000 }, async (t) => {
    const { incarnation, delivered, post } = threadUnderTest(t);
    post(batchOf('a'));
    await until('the first text is handed on', () => delivered.length > 0);
    post(batchOf('b'), batchOf('c'));
    // The clock stands still, so b and c seem to follow a at once. The incarnation keeps such batches until
    // the end of the turn in which they arrive. The callback below runs before the end of this turn, so b and
    // c are still kept. The batch d is still in the port.
    const lastBatches = await new Promise<FromActor[]>((resolve) => {
      setImmediate(() => {
        post(batchOf('d'));
        if (isKilled) incarnation.kill('for a test');
        resolve(incarnation.close());
      });
    });
    assert.deepEqual(lastBatches.flatMap(texts), isKilled ? [] : ['b', 'c', 'd']);
    // An incarnation that still kept b and c would hand them on before the next turn.
    await new Promise((resolve) => setImmediate(resolve));
    assert.deepEqual(delivered, [['a']]);
  });
}

for (const [hasSentMessage, firstPingMs, title] of [
  [false, 300_000, 'a thread that has sent no message may load for 5 minutes before its first ping'],
  [true, 30_000, 'a thread that has sent a message gets its first ping after 30 s'],
] as const) {
  test(title, { timeout: 60_000 }, async (t) => {
    const { incarnation, delivered, post, clock } = threadUnderTest(t);
    if (hasSentMessage) {
      post(batchOf('a'));
      await until('the message has arrived', () => delivered.length > 0);
    }
    const startedMs = clock.monotonic();
    assert.equal(incarnation.ping(startedMs + firstPingMs - 1, HEARTBEAT), false);
    assert.equal(incarnation.ping(startedMs + firstPingMs, HEARTBEAT), true);
    incarnation.close();
  });
}

/**
 * The times of all deaths, and the verdict and the wait after the last death. Only the deaths of the last
 * minute count. The waits after one to five deaths are 0, 250, 500, 1000 and 2000 ms
 * (RESTARTS of policy.ts).
 */
const DEATHS: readonly (readonly [
  title: string,
  deaths: readonly number[],
  verdict: string,
  waitMs: number,
])[] = [
  [
    'a death does not count after 60 s, so a restart follows the sixth death',
    [0, 1, 2, 3, 4, 60_000],
    'restarting',
    2000,
  ],
  [
    'a child that dies every 60 s is always restarted without a wait',
    [0, 60_000, 120_000, 180_000],
    'restarting',
    0,
  ],
];
for (const [title, deaths, verdict, waitMs] of DEATHS) {
  test(title, () => {
    let history: readonly number[] = [];
    let lastDecision: unknown;
    for (const diedAt of deaths) {
      const { deaths: newHistory, ...decision } = restartAfterDeath(history, diedAt, RESTARTS);
      history = newHistory;
      lastDecision = decision;
    }
    assert.deepEqual(lastDecision, { verdict, waitMs });
  });
}

test('the history of deaths is bounded, even if a child dies very often', () => {
  let deaths: readonly number[] = [];
  for (let diedAt = 0; diedAt < 1000; diedAt += 1)
    deaths = restartAfterDeath(deaths, diedAt, RESTARTS).deaths;
  // RESTARTS of policy.ts has five waits, and the history keeps one death more.
  assert.deepEqual(deaths, [994, 995, 996, 997, 998, 999]);
});

test('the sum of the stop deadlines of all children is below 4 s, and below the time at which children are killed', () => {
  const totalMs = CHILDREN.reduce((sum, { stopWithinMs }) => sum + stopWithinMs, 0);
  assert.ok(totalMs < 4000, `${totalMs} ms`);
  assert.ok(totalMs < SHUTDOWN.childrenMs, `${totalMs} ms`);
});

test('if all children together have too little time to stop, each gets the same fraction of its own time', () => {
  // The three children need 2000 ms together. The expected time is that of the first child.
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
  test(`a death by ${String(error).slice(0, 60)} is reported as ${reason.slice(0, 30)}`, () =>
    assert.equal(deathOf(error).reason, reason));
}
