// Tests every way in which the wait for a job ends, and a wait whose check throws.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Waits } from '../../../src/actors/units/waits.js';
import { ManualClock } from '../../manual-clock.js';

const MAX_MS = 9_000;

function setUp() {
  const clock = new ManualClock();
  const waits = new Waits(clock);
  const wait = (job: string, unit = 'a') => waits.forJob(job, unit, MAX_MS);
  return { clock, waits, wait };
}

test('two waits for one job get its result, and then no job is awaited and no timer is set', async () => {
  const { clock, waits, wait } = setUp();
  const ends = [wait('/job/1'), wait('/job/1')];

  waits.jobEnded('/job/2', 'failed');
  waits.jobEnded('/job/1', 'done');

  const done = { kind: 'ended', result: 'done' };
  assert.deepEqual(await Promise.all(ends), [done, done]);
  assert.deepEqual([waits.awaitedJobs(), clock.timers], [[], 0]);
});

test('if a job does not end, the wait for it ends at the deadline', async () => {
  const { clock, waits, wait } = setUp();
  const end = wait('/job/1');
  clock.advance(MAX_MS);
  assert.deepEqual([await end, waits.awaitedJobs()], [undefined, []]);
});

test('a wait that begins after the end of its job gets the result, if this job is one of the 256 that ended last', async () => {
  const { waits, wait } = setUp();
  for (let id = 0; id < 257; id += 1) waits.jobEnded(`/job/${id}`, 'canceled');

  assert.deepEqual(await wait('/job/1'), { kind: 'ended', result: 'canceled' });
  void wait('/job/0');
  assert.equal(waits.awaitedJobs().length, 1, 'the wait for an older job gets no result');
});

test('a reading of the units ends a wait only if the wait began before the reading and the unit no longer has the awaited job', async () => {
  const { waits, wait } = setUp();
  const waitForGoneJob = wait('/job/1', 'a');
  void wait('/job/2', 'b');
  void wait('/job/3', 'unlisted');
  const awaitedBeforeReading = waits.awaitedJobs();
  void wait('/job/4', 'a');

  // The unit `a` was read and has no job, but job 4 may be newer than the reading. The unit `b` still has
  // its job. The unit `unlisted` was not read.
  const jobsOfUnits: Readonly<Record<string, string>> = { a: '', b: '/job/2' };
  waits.endMissed(awaitedBeforeReading, (unit) => jobsOfUnits[unit]);

  assert.deepEqual(await waitForGoneJob, { kind: 'ended' });
  const stillAwaited = waits.awaitedJobs().map(({ job }) => job);
  assert.deepEqual(stillAwaited, ['/job/2', '/job/3', '/job/4']);
});

test('when the manager has gone, all waits end, and the results of its jobs are forgotten', async () => {
  const { waits, wait } = setUp();
  waits.jobEnded('/job/1', 'done');
  const end = wait('/job/2');

  waits.managerLost();
  assert.deepEqual(await end, { kind: 'away' });

  void wait('/job/1');
  assert.equal(waits.awaitedJobs().length, 1, 'the wait for a forgotten job gets no result');
});

test('a wait whose check throws is removed', async () => {
  const { clock, waits } = setUp();
  const throwError = (): undefined => {
    throw new Error('a defect');
  };
  await assert.rejects(waits.until(MAX_MS, throwError), /a defect/);
  // If the wait had not been removed, its check would throw here.
  waits.recheck();
  assert.equal(clock.timers, 0);
});
