// A thread that the system refuses is a death like any other: the process lives, the neighbour answers, and the backend is
// back as soon as there is enough again, not only when the heartbeat finds it missing.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { RESTARTS } from '../../src/supervisor/restarts.js';
import { lacks } from '../tools/requirements.js';
import { stage } from './harness.js';

/** Below the heartbeat's 30 s and 10 s, which would find a missing thread too. */
const DEADLINE_MS = 25_000;

const run = promisify(execFile);

test('out of descriptors, threads die as they load, and the child is back when there are some', {
  skip: lacks({ programs: ['prlimit'] }),
}, async () => {
  const script = fileURLToPath(new URL('./short-life.js', import.meta.url));
  const { stdout } = await run(process.execPath, [script], { timeout: DEADLINE_MS });
  const told: { detail?: string; neighbour?: boolean } = JSON.parse(stdout);
  assert.match(told.detail ?? '', /^thread ended: EMFILE: too many open files/);
  assert.equal(told.neighbour, true);
});

/** Node asks for the limits in `new Worker`: there it throws, as it does when the system has no thread to give (EAGAIN). */
class Refusal {
  refuses = false;
  get maxOldGenerationSizeMb(): number {
    if (this.refuses) throw new Error('no more threads');
    return 64;
  }
}

test('refused a thread at all, the child is back when there is one', { timeout: DEADLINE_MS }, async (t) => {
  const heapLimits = new Refusal();
  const cast = { audio: 'throws-in-command', power: 'obedient' };
  const { witness, say } = stage(t, cast, { restarts: RESTARTS, heapLimits });
  await witness.untilState('audio', 'up');
  await witness.untilState('power', 'up');
  heapLimits.refuses = true;
  const dying = say('audio', 'die');
  await witness.untilState('audio', 'restarting', 2);
  assert.equal(witness.now('audio')?.detail, 'thread ended: no more threads');
  assert.equal((await say('power', 'who')).ok, true);
  heapLimits.refuses = false;
  await dying;
  await witness.untilState('audio', 'up');
});
