// More connections than the built daemon has descriptors: it refuses those beyond its limit.

import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { test } from 'node:test';
import { RawConnection } from '../gateway/raw-connection.js';
import { lacks } from '../tools/requirements.js';
import { Daemon, NO_BACKENDS } from './daemon.js';

const DESCRIPTORS = 100;

test('a daemon with few descriptors refuses further connections, and keeps its streams', {
  skip: lacks({ programs: ['prlimit'] }),
}, async (t) => {
  const launcher = ['prlimit', `--nofile=${DESCRIPTORS}`];
  const daemon = await Daemon.start({ config: NO_BACKENDS, launcher }, t);
  const stream = new RawConnection(daemon.port).write('GET /events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n');
  await stream.until((text) => text.includes('connected'));
  const crowd = Array.from({ length: 2 * DESCRIPTORS }, () => new RawConnection(daemon.port));
  await Promise.all(crowd.slice(DESCRIPTORS).map((connection) => connection.closed()));
  assert.ok(readdirSync(`/proc/${daemon.pid}/fd`).length < DESCRIPTORS);
  for (const connection of crowd) connection.destroy();
  await daemon.openStreams(1);
  stream.destroy();
  await daemon.openStreams(0);
  assert.equal(daemon.log.split('too many connections').length - 1, 1, daemon.log);
});
