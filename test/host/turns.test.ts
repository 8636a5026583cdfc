// Tests that steps do not overlap, and that all calls during a run of work share the next run.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { SharedWork, Turns } from '../../src/host/turns.js';

/**
 * Work that ends when the test says so: `end` ends the oldest run. `running` has the runs that have begun
 * and have not ended.
 */
function manualWork() {
  const running: ((value: string) => void)[] = [];
  const begin = () => new Promise<string>((resolve) => running.push(resolve));
  const end = async (value: string) => {
    running.shift()?.(value);
    await nextTurn();
  };
  return { running, begin, end };
}

test('a step begins when the step before it has ended, even if that step failed', async () => {
  const { running, begin, end } = manualWork();
  const turns = new Turns();
  const failed = turns.run(() => Promise.reject(new Error('no')));
  const first = turns.run(begin);
  const second = turns.run(begin);
  await assert.rejects(failed, /no/);
  await nextTurn();
  assert.equal(running.length, 1);
  await end('first');
  assert.equal(running.length, 1);
  await end('second');
  assert.deepEqual(await Promise.all([first, second]), ['first', 'second']);
});

test('all calls during a run share the next run, and a run that has ended is shared with nobody', async () => {
  const { running, begin, end } = manualWork();
  const work = new SharedWork(begin);
  const requests = [work.run(), work.run(), work.run()];
  assert.equal(running.length, 1);
  await end('first');
  assert.equal(running.length, 1);
  await end('second');
  assert.deepEqual(await Promise.all(requests), ['first', 'second', 'second']);

  void work.run();
  assert.equal(running.length, 1);
});

test('a run that rejects fails only for its own callers, and the work is idle unless a run is under way or due', async () => {
  const { begin, end } = manualWork();
  const remainingRuns = [() => Promise.reject(new Error('no')), begin];
  const work = new SharedWork(() => {
    const run = remainingRuns.shift() ?? assert.fail('there is a third run');
    return run();
  });
  assert.equal(work.isIdle, true);
  const first = assert.rejects(work.run(), /no/);
  const second = work.run();
  await first;
  await nextTurn();
  assert.equal(work.isIdle, false);
  await end('second');
  assert.equal(await second, 'second');
  assert.equal(work.isIdle, true);
});
