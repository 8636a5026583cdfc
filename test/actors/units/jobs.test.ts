// Tests the wait for a job: every way in which one ends.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Jobs } from '../../../src/actors/units/jobs.js';

test('a job ends with its own result', async () => {
  const jobs = new Jobs();
  const { end } = jobs.wait('/job/1', 'a');
  jobs.removed('/job/2', 'failed');
  jobs.removed('/job/1', 'done');
  assert.deepEqual(await end, { kind: 'ended', result: 'done' });
  assert.deepEqual(jobs.awaited(), []);
});

test('a job that ended before anybody waited has its result', async () => {
  const jobs = new Jobs();
  jobs.removed('/job/1', 'canceled');
  assert.deepEqual(await jobs.wait('/job/1', 'a').end, { kind: 'ended', result: 'canceled' });
});

test('two who wait for one merged job get its result', async () => {
  const jobs = new Jobs();
  const ends = [jobs.wait('/job/1', 'a').end, jobs.wait('/job/1', 'a').end];
  jobs.removed('/job/1', 'done');
  assert.deepEqual(
    (await Promise.all(ends)).map((end) => end.kind),
    ['ended', 'ended'],
  );
});

test('the latest 256 results are remembered', async () => {
  const jobs = new Jobs();
  for (let id = 0; id < 257; id += 1) jobs.removed(`/job/${id}`, 'done');
  const forgotten = jobs.wait('/job/0', 'a');
  assert.equal(jobs.awaited().length, 1);
  forgotten.forget();
  assert.equal(jobs.awaited().length, 0);
  assert.equal((await jobs.wait('/job/1', 'a').end).kind, 'ended');
});

test('a job that its unit no longer has is over, a job that was queued later is not', async () => {
  const jobs = new Jobs();
  const gone = jobs.wait('/job/1', 'a').end;
  jobs.wait('/job/2', 'b');
  const awaited = jobs.awaited();
  jobs.wait('/job/3', 'c');
  jobs.compare(awaited, (unit) => (unit === 'b' ? '/job/2' : ''));
  assert.deepEqual(await gone, { kind: 'ended' });
  assert.deepEqual(
    jobs.awaited().map(({ job }) => job),
    ['/job/2', '/job/3'],
  );
});

test('a job of a unit that is not listed is not compared: its end comes by signal', async () => {
  const jobs = new Jobs();
  const { end } = jobs.wait('/job/1', 'unlisted.service');
  jobs.compare(jobs.awaited(), () => undefined);
  assert.equal(jobs.awaited().length, 1);
  jobs.removed('/job/1', 'done');
  assert.deepEqual(await end, { kind: 'ended', result: 'done' });
});

test('a manager that goes takes its jobs and their numbers along', async () => {
  const jobs = new Jobs();
  jobs.removed('/job/1', 'done');
  const { end } = jobs.wait('/job/2', 'a');
  jobs.away();
  assert.deepEqual(await end, { kind: 'away' });
  jobs.wait('/job/1', 'a');
  assert.equal(jobs.awaited().length, 1);
});
