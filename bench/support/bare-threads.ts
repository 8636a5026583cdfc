// The bare program of rest.ts: Node with threads, each of which waits for a message that never comes. The
// first argument is their number. With a second argument, the folder of the shipped bundles, it makes an app
// of uWebSockets.js. Each thread then loads the code of a backend, and runs none of it.

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
