// Tests that steps do not overlap, and that all calls during a run share the next run.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { inTurn, shared } from '../../src/actors/turns.js';

/** Work that waits; `end` lets the oldest that has begun end. */
function work() {
  const begun: ((value: string) => void)[] = [];
  const run = () => new Promise<string>((resolve) => begun.push(resolve));
  const end = async (value: string) => {
    begun.shift()?.(value);
    await turn();
  };
  return { begun, run, end };
}

test('a step begins when the one before has ended, also by a failure', async () => {
  const { begun, run, end } = work();
  const next = inTurn();
  const failed = next(() => Promise.reject(new Error('no')));
  const first = next(run);
  const second = next(run);
  await assert.rejects(failed, /no/);
  await turn();
  assert.equal(begun.length, 1);
  await end('one');
  assert.equal(begun.length, 1);
  await end('two');
  assert.deepEqual(await Promise.all([first, second]), ['one', 'two']);
});

test('all calls during a run share the next run, and a run that has ended is shared with nobody', async () => {
  const { begun, run, end } = work();
  const ask = shared(run);
  const requests = [ask(), ask(), ask()];
  assert.equal(begun.length, 1);
  await end('one');
  assert.equal(begun.length, 1);
  await end('two');
  assert.deepEqual(await Promise.all(requests), ['one', 'two', 'two']);
  void ask();
  assert.equal(begun.length, 1);
});
