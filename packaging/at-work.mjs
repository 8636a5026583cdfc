// Work that takes minutes is announced, and shows that it goes on: by a line every few seconds on standard
// error, from a thread of its own, because the work blocks the one that does it. Runs on any Node from 18 on.

import { Worker } from 'node:worker_threads';

const AGAIN_MS = 15_000;

/** A line that cannot be written is not missed. */
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
