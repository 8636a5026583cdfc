// Tests how the built daemon finds the address of its broker. The daemon connects to a name that /etc/hosts
// has. While no name server answers, the daemon serves requests, and a signal ends it with status 0.

import assert from 'node:assert/strict';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { temporaryFolder } from '../temporary-folder.js';
import { inOwnNetwork } from '../tools/own-network.js';
import { Daemon, NO_BACKENDS } from './daemon.js';

const DNS_PORT = 53;
const MQTT_PORT = 1883;

const ETC_FILES = {
  hosts: '127.0.0.1 localhost\n127.0.0.1 known.example\n',
  'resolv.conf': 'nameserver 127.0.0.1\n',
  'nsswitch.conf': 'hosts: files dns\n',
};
const MOUNT_ETC_FILES = Object.keys(ETC_FILES)
  .map((name) => `mount --bind "$1/${name}" /etc/${name}`)
  .join('; ');
/**
 * Runs a program with the files of a folder instead of the machine's. The arguments are the folder, and then
 * the program with its own arguments. The script needs a mount namespace of its own.
 */
const RUN_WITH_ETC_FILES = `${MOUNT_ETC_FILES}; shift; exec "$@"`;

/** Starts a daemon whose broker has this name. */
function startWithBroker(t: TestContext, name: string): Promise<Daemon> {
  const folder = temporaryFolder(t);
  for (const [file, text] of Object.entries(ETC_FILES)) writeFileSync(join(folder, file), text);
  const launcher = ['unshare', '--mount', 'sh', '-ec', RUN_WITH_ETC_FILES, 'sh', folder];
  return Daemon.start(
    { launcher, config: `${NO_BACKENDS}mqtt: {enabled: true, url: "mqtt://${name}"}\n` },
    t,
  );
}

inOwnNetwork(import.meta.url, () => {
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    test(`the daemon ends with status 0 at ${signal} while it waits for a name server`, async (t) => {
      const server = createSocket('udp4');
      t.after(() => server.close());
      server.bind(DNS_PORT, '127.0.0.1');
      await once(server, 'listening');
      const queried = once(server, 'message');
      const daemon = await startWithBroker(t, 'unknown.example');
      await queried;
      assert.equal((await daemon.get('/health')).status, 200);
      daemon.signal(signal);
      assert.equal(await daemon.status(), 0);
    });
  }

  test('a broker is found by a name of /etc/hosts', async (t) => {
    const broker = createServer((socket) => socket.destroy());
    t.after(() => broker.close());
    broker.listen(MQTT_PORT, '127.0.0.1');
    const connected = once(broker, 'connection');
    await startWithBroker(t, 'known.example');
    await connected;
  });
});
