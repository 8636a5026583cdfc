// Measured against by rest.ts: Node with as many threads as the first argument says, which wait for a message that never comes.

import { Worker } from 'node:worker_threads';

for (let left = Number(process.argv[2]); left > 0; left -= 1) {
  new Worker("require('node:worker_threads').parentPort.on('message', () => undefined)", { eval: true });
}
process.send?.(0);
