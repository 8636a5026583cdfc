// Announces work that takes minutes, and prints every 15 s to standard error that it goes on. A second
// thread prints these lines, because the work blocks the first. This file runs on any Node from 18 on.

import { Worker } from 'node:worker_threads';

const AGAIN_MS = 15_000;

/** The thread drops a line that cannot be written, because the work goes on without it. */
const LINES = `
const { workerData: { text, againMs } } = require('node:worker_threads');
const begun = Date.now();
setInterval(() => {
  const line = text + ', for ' + Math.round((Date.now() - begun) / 1000) + ' s\\n';
  try { require('node:fs').writeSync(2, line); } catch {}
}, againMs);
`;

/**
 * Prints `name: what; remark`, does `work`, and prints meanwhile that it goes on. The remark names the time
 * that it may take.
 * @returns what `work` returns
 */
export function atWork(name, what, remark, work, againMs = AGAIN_MS) {
  console.error(`${name}: ${what}; ${remark}`);
  const sign = new Worker(LINES, { eval: true, workerData: { text: `${name}: still ${what}`, againMs } });
  try {
    return work();
  } finally {
    sign.unref();
    void sign.terminate();
  }
}
