// The restart policy as a table: contract, section 7.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { afterDeath, RESTARTS } from '../../src/supervisor/lifecycle.js';

interface Row {
  readonly name: string;
  /** Times of all deaths, the last one being this death. */
  readonly deaths: readonly number[];
  readonly verdict: 'restarting' | 'failed';
  readonly waitMs: number;
}

const ROWS: readonly Row[] = [
  { name: 'the first death is mended at once', deaths: [5], verdict: 'restarting', waitMs: 0 },
  { name: 'the second waits 250 ms', deaths: [0, 1], verdict: 'restarting', waitMs: 250 },
  { name: 'the third waits 500 ms', deaths: [0, 1, 2], verdict: 'restarting', waitMs: 500 },
  { name: 'the fourth waits 1 s', deaths: [0, 1, 2, 3], verdict: 'restarting', waitMs: 1000 },
  {
    name: 'the fifth waits 2 s: 5 are not more than 5',
    deaths: [0, 1, 2, 3, 4],
    verdict: 'restarting',
    waitMs: 2000,
  },
  {
    name: 'the sixth within 60 s rests for 60 s',
    deaths: [0, 1, 2, 3, 4, 59_999],
    verdict: 'failed',
    waitMs: 60_000,
  },
  {
    name: 'the sixth at 60 s finds the first forgotten',
    deaths: [0, 1, 2, 3, 4, 60_000],
    verdict: 'restarting',
    waitMs: 2000,
  },
  {
    name: 'a death a minute is always mended at once',
    deaths: [0, 60_000, 120_000, 180_000],
    verdict: 'restarting',
    waitMs: 0,
  },
  {
    name: 'after the rest the count begins anew',
    deaths: [0, 1, 2, 3, 4, 5, 60_005],
    verdict: 'restarting',
    waitMs: 0,
  },
];

for (const { name, deaths, verdict, waitMs } of ROWS) {
  test(name, () => {
    let history: readonly number[] = [];
    let last = { verdict: '', waitMs: -1 };
    for (const at of deaths) {
      const decision = afterDeath(history, at, RESTARTS);
      history = decision.deaths;
      last = { verdict: decision.verdict, waitMs: decision.waitMs };
    }
    assert.deepEqual(last, { verdict, waitMs });
  });
}

test('the history is bounded however fast the deaths come', () => {
  let deaths: readonly number[] = [];
  for (let at = 0; at < 1000; at += 1) deaths = afterDeath(deaths, at, RESTARTS).deaths;
  assert.deepEqual(deaths, [994, 995, 996, 997, 998, 999]);
});
