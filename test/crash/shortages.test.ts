// When the system refuses a thread, or does not let it end, the child dies as in any other way: the process
// continues, the other child answers, and the backend is back as soon as the system gives it a thread, before
// the heartbeat would notice that it is missing.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { RESTARTS } from '../../src/supervisor/policy.js';
import { HEAP_LIMITS } from '../../src/supervisor/threads.js';
import { temporaryFolder } from '../temporary-folder.js';
import { lacks } from '../tools/requirements.js';
import { FIFO } from './fixtures/sticks.js';
import { childrenUp, QUICK_PULSE, startChildren } from './harness.js';

/** Below the heartbeat's 30 s and 10 s, which would find a missing thread too. */
const DEADLINE_MS = 25_000;

/**
 * Node asks for the limits in `new Worker`: there it throws, as it does when the system has no thread to give
 * (EAGAIN).
 */
class Refusal {
  readonly maxYoungGenerationSizeMb = HEAP_LIMITS.maxYoungGenerationSizeMb;
  refuses = false;
  get maxOldGenerationSizeMb(): number {
    if (this.refuses) throw new Error('no more threads');
    return 64;
  }
}

test('a child that the system refuses a thread waits, and starts when it gets one', {
  timeout: DEADLINE_MS,
}, async (t) => {
  const heapLimits = new Refusal();
  const fixtures = { audio: 'obedient', power: 'obedient' };
  const { recorder, ask } = await childrenUp(t, fixtures, { restarts: RESTARTS, heapLimits });
  heapLimits.refuses = true;
  const dying = ask('audio', 'throw');
  await recorder.untilState('audio', 'restarting', 2);
  assert.equal(recorder.now('audio')?.detail, 'thread ended: no more threads');
  assert.equal((await ask('power', 'who')).ok, true);
  heapLimits.refuses = false;
  await dying;
  await recorder.untilState('audio', 'up');
});

test('the number of threads that are stuck in the kernel is bounded, and the child starts when they can continue', {
  skip: lacks({ programs: ['mkfifo'] }),
}, async (t) => {
  const directory = temporaryFolder(t);
  const fifo = join(directory, 'fifo');
  assert.equal(spawnSync('mkfifo', [fifo]).status, 0);
  process.env[FIFO] = fifo;
  const restarts = { waitsMs: Array.from({ length: 500 }, () => 100), windowMs: 60_000, pauseMs: 60_000 };
  const options = { restarts, heartbeat: QUICK_PULSE };
  const { recorder, ask } = startChildren(t, { audio: 'sticks', power: 'obedient' }, options);
  const stuck = 'thread ended: 3 earlier threads are still stuck';
  await recorder.until(() => recorder.now('audio')?.detail === stuck);
  assert.equal((await ask('power', 'who')).ok, true);
  // The test keeps the FIFO open, so that no thread is stuck any more. It opens it for reading and writing,
  // because opening it one way would wait for the other end.
  const end = openSync(fifo, 'r+');
  t.after(() => closeSync(end));
  await recorder.untilState('audio', 'up');
});
