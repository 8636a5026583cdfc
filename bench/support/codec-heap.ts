// Measures the heap of a decoded record for codec.ts, in a process of its own, whose young generation is so
// large that nothing is collected during the measurement. Arguments: server and count of the list, `ours` or
// `theirs`. The order `allocated` is answered with the bytes allocated per record, and `kept` with those
// that remain after a full collection.

import { type List, listOf } from './captures.js';
import { CODECS } from './codecs.js';
import { obey } from './fork.js';

const [server = '', count = '', whose = ''] = process.argv.slice(2);
const list = listOf(server as List['server'], Number(count));
const codec = CODECS[whose as keyof typeof CODECS]();
const WARM_UP_LISTS = 300;
const LISTS = 20;

function heapUsed(): number {
  globalThis.gc?.();
  return process.memoryUsage().heapUsed;
}

/**
 * The growth of the heap in bytes for one record. `decode` decodes lists, and returns the size of the heap.
 */
function measure(decode: () => number): number {
  const before = heapUsed();
  return (decode() - before) / (LISTS * list.count);
}

function decodeLists(): readonly (readonly object[])[] {
  return Array.from({ length: LISTS }, () => codec.decode([list.bytes]));
}

for (let left = WARM_UP_LISTS; left > 0; left -= 1) codec.decode([list.bytes]);
let kept: unknown;
obey(0, {
  allocated: () =>
    measure(() => {
      decodeLists();
      return process.memoryUsage().heapUsed;
    }),
  kept: () => {
    kept = undefined;
    return measure(() => {
      kept = decodeLists();
      // `kept` is read, because the compiler refuses a variable that is only written (`noUnusedLocals`).
      return kept === undefined ? Number.NaN : heapUsed();
    });
  },
});
