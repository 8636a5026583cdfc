// Tests that steps do not overlap, and that all calls during a run share the next run.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { SharedWork, Turns } from '../../src/actors/turns.js';

/** Work that waits; `end` lets the oldest that has begun end. */
function openWork() {
  const begun: ((value: string) => void)[] = [];
  const run = () => new Promise<string>((resolve) => begun.push(resolve));
  const end = async (value: string) => {
    begun.shift()?.(value);
    await turn();
  };
  return { begun, run, end };
}

test('a step begins when the one before has ended, also by a failure', async () => {
  const { begun, run, end } = openWork();
  const turns = new Turns();
  const failed = turns.run(() => Promise.reject(new Error('no')));
  const first = turns.run(run);
  const second = turns.run(run);
  await assert.rejects(failed, /no/);
  await turn();
  assert.equal(begun.length, 1);
  await end('one');
  assert.equal(begun.length, 1);
  await end('two');
  assert.deepEqual(await Promise.all([first, second]), ['one', 'two']);
});

test('all calls during a run share the next run, and a run that has ended is shared with nobody', async () => {
  const { begun, run, end } = openWork();
  const work = new SharedWork(run);
  const requests = [work.run(), work.run(), work.run()];
  assert.equal(begun.length, 1);
  await end('one');
  assert.equal(begun.length, 1);
  await end('two');
  assert.deepEqual(await Promise.all(requests), ['one', 'two', 'two']);
  void work.run();
  assert.equal(begun.length, 1);
});
