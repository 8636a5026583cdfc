// When a dead child is started again (docs/http-api.md, "Backends that are away"), how its death is reported in one line, and how long all may
// take to stop. test/crash has the life of a child with real threads.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { afterDeath, CHILDREN, RESTARTS } from '../../src/supervisor/policy.js';
import { deathOf } from '../../src/supervisor/threads.js';

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
      const { deaths: kept, ...decision } = afterDeath(history, at, RESTARTS);
      history = kept;
      last = decision;
    }
    assert.deepEqual(last, { verdict, waitMs });
  });
}

test('the history of deaths is bounded however fast they come', () => {
  let deaths: readonly number[] = [];
  for (let at = 0; at < 1000; at += 1) deaths = afterDeath(deaths, at, RESTARTS).deaths;
  assert.deepEqual(deaths, [994, 995, 996, 997, 998, 999]);
});

test('all deadlines together leave the gateway its share of the 5 s', () => {
  const total = CHILDREN.reduce((sum, { stopWithinMs }) => sum + stopWithinMs, 0);
  assert.ok(total < 4000, `${total} ms`);
});

const OUT_OF_MEMORY = Object.assign(new Error('Worker terminated due to reaching memory limit'), {
  code: 'ERR_WORKER_OUT_OF_MEMORY',
});

const ROWS: readonly [error: unknown, reason: string][] = [
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

for (const [error, reason] of ROWS) {
  test(`${String(error).slice(0, 60)}: ${reason.slice(0, 30)}`, () => {
    assert.equal(deathOf(error).reason, reason);
  });
}

test('the stack is kept for the log', () => {
  assert.match(deathOf(new Error('boom')).stack ?? '', /Error: boom\n/);
});
