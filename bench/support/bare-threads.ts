// The bare program of rest.ts: Node with as many threads as the first argument, which wait for a message that
// never comes. With a second argument, the folder of the shipped bundles, it loads uWebSockets.js and the
// code of the backends, and runs none of it.

import { join } from 'node:path';
import { Worker } from 'node:worker_threads';

const BACKENDS = ['audio', 'systemd', 'power', 'upgrade'];

const [, , threads, bundles] = process.argv;
if (bundles !== undefined) (await import('uWebSockets.js')).App();
for (let left = Number(threads); left > 0; left -= 1) {
  const code = bundles === undefined ? '' : join(bundles, 'actors', BACKENDS[left - 1] ?? '', 'backend.js');
  const load = code === '' ? '' : `require(${JSON.stringify(code)});`;
  const wait = "require('node:worker_threads').parentPort.on('message', () => undefined)";
  new Worker(`${load}${wait}`, { eval: true });
}
process.send?.(0);
