// A broker's name that no name server answers for: the daemon serves meanwhile, and ends with status 0.

import assert from 'node:assert/strict';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { temporaryFolder } from '../temporary-folder.js';
import { inOwnNetwork } from '../tools/own-network.js';
import { Daemon, NO_BACKENDS } from './daemon.js';

/** In a mount namespace of its own the program gets these files instead of the machine's. */
const WITH_FILES =
  'mount --bind "$1/resolv.conf" /etc/resolv.conf; mount --bind "$1/nsswitch.conf" /etc/nsswitch.conf; shift; exec "$@"';

inOwnNetwork(import.meta.url, () => {
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    test(`${signal} while a name is looked up ends the daemon with status 0`, async (t) => {
      const server = createSocket('udp4');
      t.after(() => server.close());
      server.bind(53, '127.0.0.1');
      await once(server, 'listening');
      const folder = temporaryFolder(t);
      writeFileSync(join(folder, 'resolv.conf'), 'nameserver 127.0.0.1\n');
      writeFileSync(join(folder, 'nsswitch.conf'), 'hosts: files dns\n');
      const asked = once(server, 'message');
      const launcher = ['unshare', '--mount', 'sh', '-ec', WITH_FILES, 'sh', folder];
      const config = `${NO_BACKENDS}mqtt: {enabled: true, url: "mqtt://broker.example"}\n`;
      const daemon = await Daemon.start({ launcher, config }, t);
      await asked;
      assert.equal((await daemon.get('/health')).status, 200);
      daemon.signal(signal);
      assert.equal(await daemon.status(), 0);
    });
  }
});
