// When the system refuses a thread, or does not let it end, this is a death like any other: the process
// lives, the neighbour answers, and the backend is back as soon as there is enough again, not only when the
// heartbeat finds it missing.

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

test('without threads the child waits, and starts when there is one', { timeout: DEADLINE_MS }, async (t) => {
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

test('threads that are stuck in the kernel do not pile up, and the child starts when they come loose', {
  skip: lacks({ programs: ['mkfifo'] }),
}, async (t) => {
  const directory = temporaryFolder(t);
  const fifo = join(directory, 'fifo');
  assert.equal(spawnSync('mkfifo', [fifo]).status, 0);
  process.env[FIFO] = fifo;
  const restarts = { waitsMs: Array.from({ length: 500 }, () => 100), windowMs: 60_000, restMs: 60_000 };
  const options = { restarts, heartbeat: QUICK_PULSE };
  const { recorder, ask } = startChildren(t, { audio: 'sticks', power: 'obedient' }, options);
  const stuck = 'thread ended: 3 earlier threads are still stuck';
  await recorder.until(() => recorder.now('audio')?.detail === stuck);
  assert.equal((await ask('power', 'who')).ok, true);
  // Held open, so that nobody else has to wait; both ways, so that opening it does not wait either.
  const end = openSync(fifo, 'r+');
  t.after(() => closeSync(end));
  await recorder.untilState('audio', 'up');
});
