// Tests the wait for a job: every way in which one ends.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Jobs, Waits } from '../../../src/actors/units/jobs.js';
import { ManualClock } from '../../manual-clock.js';

const MAX_MS = 9_000;

function stage() {
  const clock = new ManualClock();
  const jobs = new Jobs(new Waits(clock));
  const wait = (job: string, unit = 'a') => jobs.wait(job, unit, MAX_MS);
  return { clock, jobs, wait };
}

test('two who wait for one job get its own result, and leave nothing', async () => {
  const { clock, jobs, wait } = stage();
  const ends = [wait('/job/1'), wait('/job/1')];
  jobs.removed('/job/2', 'failed');
  jobs.removed('/job/1', 'done');
  const done = { kind: 'ended', result: 'done' };
  assert.deepEqual(await Promise.all(ends), [done, done]);
  assert.deepEqual([jobs.awaited(), clock.timers], [[], 0]);
});

test('a job that does not end is waited for until the deadline', async () => {
  const { clock, jobs, wait } = stage();
  const end = wait('/job/1');
  clock.advance(MAX_MS);
  assert.deepEqual([await end, jobs.awaited()], [undefined, []]);
});

test('the latest 256 results are remembered for who waits too late', async () => {
  const { jobs, wait } = stage();
  for (let id = 0; id < 257; id += 1) jobs.removed(`/job/${id}`, 'canceled');
  assert.deepEqual(await wait('/job/1'), { kind: 'ended', result: 'canceled' });
  void wait('/job/0');
  assert.equal(jobs.awaited().length, 1);
});

test('a job that its unit no longer has is over; one that was queued later, or of a unit that is not listed, is not', async () => {
  const { jobs, wait } = stage();
  const gone = wait('/job/1', 'a');
  void wait('/job/2', 'b');
  void wait('/job/3', 'unlisted');
  const awaited = jobs.awaited();
  void wait('/job/4', 'a');
  jobs.compare(awaited, (unit) => ({ a: '', b: '/job/2' })[unit]);
  assert.deepEqual(await gone, { kind: 'ended' });
  const left = jobs.awaited().map(({ job }) => job);
  assert.deepEqual(left, ['/job/2', '/job/3', '/job/4']);
});

test('a manager that goes takes its jobs and their numbers along', async () => {
  const { jobs, wait } = stage();
  jobs.removed('/job/1', 'done');
  const end = wait('/job/2');
  jobs.away();
  assert.deepEqual(await end, { kind: 'away' });
  void wait('/job/1');
  assert.equal(jobs.awaited().length, 1);
});
