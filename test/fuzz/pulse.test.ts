// Runs the fuzzer of the sound server's protocol and fails on an escaped error, a hang, or growth without bound.
//   TONEARM_FUZZ_SEED=N repeats a run.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { SEED } from '../seeded-random.js';
import type { FuzzResult, FuzzTask } from './pulse-rounds.js';

const ROUNDS = 1500;
/** CPU time, because a busy machine is no hang: the rounds take three seconds, and wait for nothing. */
const HANG_CPU_MS = 60_000;
const LOOK_EVERY_MS = 500;
/** The inputs are small; what needs more has grown without bound, and ends the thread. */
const HEAP_MAX_MB = 128;

const OUTCOMES = [
  ...['ready', 'reply', 'failed: violation', 'failed: server', 'failed: timeout'],
  ...['protocol-violation', 'stopped', 'data'],
];

/** A thread can be ended while it hangs; the test itself could not. */
function fuzz(task: FuzzTask): Promise<FuzzResult> {
  const begun = process.cpuUsage();
  return new Promise((resolve) => {
    const worker = new Worker(new URL('pulse-rounds.js', import.meta.url), {
      workerData: task,
      resourceLimits: { maxOldGenerationSizeMb: HEAP_MAX_MB },
    });
    const end = (result: FuzzResult): void => {
      clearInterval(looking);
      resolve(result);
      void worker.terminate();
    };
    const looking = setInterval(() => {
      const { user, system } = process.cpuUsage(begun);
      if ((user + system) / 1000 > HANG_CPU_MS) end({ failure: 'it hangs' });
    }, LOOK_EVERY_MS);
    worker.on('message', end);
    worker.on('error', (error) => end({ failure: String(error) }));
    worker.on('exit', () => end({ failure: 'it has ended without a result' }));
  });
}

test('mutated captures end a session at worst', async (t) => {
  t.diagnostic(`TONEARM_FUZZ_SEED=${SEED}`);
  const result = await fuzz({ seed: SEED, rounds: ROUNDS });
  if ('failure' in result) assert.fail(`TONEARM_FUZZ_SEED=${SEED}, ${result.failure}`);
  // A fuzzer whose inputs all end alike would prove little.
  for (const outcome of OUTCOMES) {
    assert.ok(result.outcomes.includes(outcome), `${outcome} was never seen with TONEARM_FUZZ_SEED=${SEED}`);
  }
});
