// Servers far away whose name has a dead address, too: a broker, and a web server with a cover.

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
import { lacks } from '../../tools/requirements.js';

/** Nobody has it, in a network that exists. */
const DEAD = '10.9.0.9';
const ADDRESSES = ['127.0.0.1', DEAD];

const COVERS = `
const png = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex');
const server = require('node:http').createServer((_, response) => response.end(png));
server.listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => console.log(server.address().port));
`;

/**
 * Names are looked up by `getent`, which here knows one name, with a dead address before the one that
 * answers.
 */
function nameService(t: TestContext): void {
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

  test('a broker is reached though each attempt takes a second', {
    skip: lacks({ programs: ['mosquitto'] }),
  }, async (t) => {
    const broker = await startBroker();
    t.after(() => broker.stop());
    nameService(t);
    const delayed = await delayConnections(broker.pid, broker.port);
    const connection = new MqttConnection({
      url: `mqtt://far.test:${broker.port}`,
      clientId: 'far',
      clock: systemClock,
      onMessage: () => undefined,
    });
    await delayed.letGo();
    const reason = connection.ended.then((text) => text);
    assert.equal((await connection.ready) || (await reason), true);
    await connection.end('the test is over');
  });

  test('a cover is fetched though each attempt takes a second', async (t) => {
    const server = spawn(process.execPath, ['-e', COVERS], { stdio: ['ignore', 'pipe', 'inherit'] });
    t.after(() => server.kill('SIGKILL'));
    const [line] = await once(server.stdout, 'data');
    const port = Number(String(line));
    const delayed = await delayConnections(server.pid ?? 0, port);
    const web = { isPublic: () => true, isAllowedPort: () => true, addressesOf: async () => ADDRESSES };
    const cover = webCover(`http://far.test:${port}/`, new ManualClock(), web);
    await delayed.letGo();
    assert.equal((await cover)?.type, 'image/png');
  });
});
