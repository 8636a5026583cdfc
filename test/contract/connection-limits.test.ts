// More connections than the built daemon may hold descriptors: it closes those that it cannot keep, and serves the others.

import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { test } from 'node:test';
import { RawConnection } from '../gateway/raw-connection.js';
import { lacks } from '../tools/requirements.js';
import { until } from '../until.js';
import { Daemon } from './daemon.js';

const DESCRIPTORS = 100;
const REQUEST = 'GET /server HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n';

test('it keeps within its descriptors, answers on the connections that it has, and takes new ones when there is room', {
  skip: lacks({ programs: ['prlimit'] }),
}, async () => {
  const daemon = await Daemon.start({
    config: 'systemd: {enabled: false}\npulseaudio: {enabled: false}\n',
    launcher: ['prlimit', `--nofile=${DESCRIPTORS}`],
  });
  try {
    const first = new RawConnection(daemon.port).write(REQUEST);
    const once = (await first.until((text) => text.includes('}}'))).length;
    const crowd = Array.from({ length: 2 * DESCRIPTORS }, () => new RawConnection(daemon.port));
    const refused = crowd.slice(DESCRIPTORS);
    for (const connection of refused) assert.equal(await connection.closed(), '');
    assert.ok(readdirSync(`/proc/${daemon.pid}/fd`).length < DESCRIPTORS);
    await first.write(REQUEST).until((text) => text.length === 2 * once);
    for (const connection of crowd) connection.destroy();
    await until('it answers again', async () => (await daemon.get('/server')).status === 200);
    assert.equal(daemon.log.split('too many connections').length - 1, 1, daemon.log);
  } finally {
    await daemon.stop();
  }
});
