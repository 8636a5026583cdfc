// Tests connections to a broker and to a web server that are so far away that connecting takes a second. If a
// name has several addresses, Node.js by default gives up each of them, except the last, after 250 ms. So in
// these tests, the name of each server has two addresses: that of the server, and then a dead one.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, type TestContext, test } from 'node:test';
import { MqttConnection } from '../../../src/actors/mqtt/broker.js';
import { webCover } from '../../../src/actors/players/web-cover.js';
import { systemClock } from '../../../src/host/clock.js';
import { startBroker } from '../../broker/mosquitto.js';
import { ManualClock } from '../../manual-clock.js';
import { temporaryFolder } from '../../temporary-folder.js';
import { delayConnections } from '../../tools/delayed-connections.js';
import { inOwnNetwork, ip } from '../../tools/own-network.js';
import { skipReason } from '../../tools/requirements.js';

/** An address that no machine has, in a network that exists. */
const DEAD = '10.9.0.9';
const ADDRESSES = ['127.0.0.1', DEAD];

/**
 * A web server that answers every request with a cover. It prints its port. Its queue of connections is
 * short, so that `delayConnections` can fill the queue.
 */
const COVER_SERVER = `
const png = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex');
const server = require('node:http').createServer((_, response) => response.end(png));
server.listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => console.log(server.address().port));
`;

/**
 * Replaces the program `getent`, with which the bridge looks up names. The replacement prints `ADDRESSES` for
 * every name.
 */
function installGetent(t: TestContext): void {
  const folder = temporaryFolder(t);
  const lines = ADDRESSES.map((address) => `echo '${address} STREAM far.test'`);
  writeFileSync(join(folder, 'getent'), `#!/bin/sh\n${lines.join('\n')}\n`, { mode: 0o755 });
  const path = process.env['PATH'];
  process.env['PATH'] = `${folder}:${path}`;
  t.after(() => {
    process.env['PATH'] = path;
  });
}

inOwnNetwork(import.meta.url, () => {
  before(() => {
    ip('link', 'add', 'lan9', 'type', 'veth', 'peer', 'name', 'peer9');
    for (const name of ['lan9', 'peer9']) ip('link', 'set', name, 'up');
    ip('addr', 'add', '10.9.0.1/24', 'dev', 'lan9');
  });

  test('a broker is reached although connecting takes a second', {
    skip: skipReason({ programs: ['mosquitto'] }),
  }, async (t) => {
    const broker = await startBroker();
    t.after(() => broker.stop());
    installGetent(t);
    const delayed = await delayConnections(broker.pid, broker.port);
    const connection = new MqttConnection({
      url: `mqtt://far.test:${broker.port}`,
      clientId: 'far',
      clock: systemClock,
      onMessage: () => undefined,
      onPong: () => undefined,
    });
    await delayed.letGo();
    const isReady = await connection.ready;
    // If the connection has ended, the failed assertion shows the reason.
    assert.equal(isReady || (await connection.ended), true);
    await connection.end('the test is over');
  });

  test('a cover is fetched although connecting takes a second', async (t) => {
    const server = spawn(process.execPath, ['-e', COVER_SERVER], { stdio: ['ignore', 'pipe', 'inherit'] });
    t.after(() => server.kill('SIGKILL'));
    const [line] = await once(server.stdout, 'data');
    const port = Number(String(line));
    const delayed = await delayConnections(server.pid ?? 0, port);
    const web = { isPublic: () => true, isAllowedPort: () => true, addressesOf: async () => ADDRESSES };
    const fetching = webCover(`http://far.test:${port}/`, new ManualClock(), web);
    await delayed.letGo();
    assert.equal((await fetching)?.type, 'image/png');
  });
});
