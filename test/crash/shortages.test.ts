// The system refuses a child a thread, or does not let a thread end. The process continues, and the other
// child answers. The child is back as soon as the system gives it a thread.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { RESTARTS } from '../../src/supervisor/policy.js';
import { HEAP_LIMITS } from '../../src/supervisor/threads.js';
import { temporaryFolder } from '../temporary-folder.js';
import { skipReason } from '../tools/requirements.js';
import { FIFO_VARIABLE } from './fixtures/sticks.js';
import { childrenUp, QUICK_HEARTBEAT, startChildren } from './harness.js';

/**
 * The heartbeat notices only after 40 s that a thread is missing. So the test fails if nothing else notices
 * it.
 */
const DEADLINE_MS = 25_000;

/**
 * While `isRefusing` is true, `new Worker` throws, because it reads a limit that throws. This imitates a
 * system that has no thread to give (EAGAIN), where `new Worker` throws, too.
 */
class RefusableLimits {
  readonly maxYoungGenerationSizeMb = HEAP_LIMITS.maxYoungGenerationSizeMb;
  isRefusing = false;
  get maxOldGenerationSizeMb(): number {
    if (this.isRefusing) throw new Error('no more threads');
    return 64;
  }
}

test('a child waits while the system refuses it a thread, and starts when it gets one', {
  timeout: DEADLINE_MS,
}, async (t) => {
  const heapLimits = new RefusableLimits();
  const fixtures = { audio: 'obedient', power: 'obedient' };
  const { recorder, ask } = await childrenUp(t, fixtures, { restarts: RESTARTS, heapLimits });
  heapLimits.isRefusing = true;

  const dying = ask('audio', 'throw');
  // The first death is that of `throw`. The refused start counts as the second one.
  await recorder.untilState('audio', 'restarting', 2);
  assert.equal(recorder.healthOf('audio')?.detail, 'thread ended: no more threads');
  assert.equal((await ask('power', 'who')).ok, true);

  heapLimits.isRefusing = false;
  await dying;
  await recorder.untilState('audio', 'up');
});

test('the number of threads that are stuck in the kernel is bounded, and the child starts when they can continue', {
  skip: skipReason({ programs: ['mkfifo'] }),
}, async (t) => {
  const directory = temporaryFolder(t);
  const fifo = join(directory, 'fifo');
  assert.equal(spawnSync('mkfifo', [fifo]).status, 0);
  process.env[FIFO_VARIABLE] = fifo;
  // The fixture dies far less often than 500 times, so the supervisor never gives up.
  const restarts = { waitsMs: Array.from({ length: 500 }, () => 100), windowMs: 60_000, pauseMs: 60_000 };
  const options = { restarts, heartbeat: QUICK_HEARTBEAT };
  const { recorder, ask } = startChildren(t, { audio: 'sticks', power: 'obedient' }, options);
  const stuckDetail = 'thread ended: 3 earlier threads are still stuck';
  await recorder.until(() => recorder.healthOf('audio')?.detail === stuckDetail);
  assert.equal((await ask('power', 'who')).ok, true);

  // While the test has the FIFO open, no thread is stuck. The test opens it for reading and writing, because
  // opening it for only one of the two would wait for the other end.
  const openFifo = openSync(fifo, 'r+');
  t.after(() => closeSync(openFifo));
  await recorder.untilState('audio', 'up');
});
