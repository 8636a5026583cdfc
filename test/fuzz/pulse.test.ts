// Runs the fuzzer of the sound server's protocol and fails on an escaped error, a hang, or growth without bound.
//   TONEARM_FUZZ_SEED=N repeats a run.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { SEED } from '../seeded-random.js';
import type { FuzzResult, FuzzTask } from './pulse-rounds.js';

const ROUNDS = 1500;
/** The rounds take about a second. Only a hang takes this. */
const HANG_MS = 60_000;
/** The inputs are small; what needs more has grown without bound, and ends the thread. */
const HEAP_MAX_MB = 128;

const OUTCOMES = [
  ...['ready', 'reply', 'failed: violation', 'failed: server', 'failed: timeout'],
  ...['protocol-violation', 'stopped', 'condensed', 'data'],
];

/** A thread can be ended while it hangs; the test itself could not. */
function fuzz(task: FuzzTask): Promise<FuzzResult> {
  return new Promise((resolve) => {
    const worker = new Worker(new URL('pulse-rounds.js', import.meta.url), {
      workerData: task,
      resourceLimits: { maxOldGenerationSizeMb: HEAP_MAX_MB },
    });
    const end = (result: FuzzResult): void => {
      clearTimeout(hang);
      resolve(result);
      void worker.terminate();
    };
    const hang = setTimeout(() => end({ failure: 'it hangs' }), HANG_MS);
    worker.on('message', end);
    worker.on('error', (error) => end({ failure: String(error) }));
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
