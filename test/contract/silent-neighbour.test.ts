// A neighbour opens silent connections again and again: others are served, and the node's memory and descriptors stay within their bounds
// (docs/http-api.md, "Limits"; real sockets from several addresses, in a network of its own). Other crowds: gateway/server.test.ts.

import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { test } from 'node:test';
import { RawConnection } from '../gateway/raw-connection.js';
import { inOwnNetwork, ip } from '../tools/own-network.js';
import { until } from '../until.js';
import { Daemon, NO_BACKENDS } from './daemon.js';
import { SilentCrowd } from './silent-crowd.js';

const NODE = '10.9.0.1';
const HONEST = '10.9.0.2';
const SILENT_HOST = '10.9.0.3';
const SILENT = 1000;
/** After this many, some connections have already come back. */
const CLOSINGS = 600;
const REQUESTS = 15;
const REQUEST = `GET /server HTTP/1.1\r\nHost: ${NODE}\r\nConnection: close\r\n\r\n`;
/** 256 streams and 512 others. */
const CONNECTIONS_MAX = 256 + 512;
/** The process itself may open this many meanwhile. */
const OWN_MAX = 16;
/** All those connections, with all data about them, need less (5 MB measured). */
const GROWTH_MAX_MB = 32;

/** The beginning of the answer. */
async function request(from: string, to: string, port: number): Promise<string> {
  return (await new RawConnection(port, to, from).write(REQUEST).closed()).slice(0, 12);
}

const descriptors = (pid: number): number => readdirSync(`/proc/${pid}/fd`).length;

inOwnNetwork(import.meta.url, () => {
  for (const address of [NODE, HONEST, SILENT_HOST]) ip('addr', 'add', `${address}/24`, 'dev', 'lo');

  test(`requests of others are answered beside ${SILENT} silent connections of one address that come back`, async (t) => {
    const daemon = await Daemon.start({ config: `${NO_BACKENDS}bind: [lo, ${NODE}]\n` }, t);
    const before = daemon.memoryMb;
    const own = descriptors(daemon.pid);
    const crowd = new SilentCrowd({ host: NODE, port: daemon.port }, [SILENT_HOST], SILENT);
    t.after(() => crowd.end());
    await until('connections are being closed', () => crowd.closings > CLOSINGS);
    for (let count = 0; count < REQUESTS; count += 1) {
      assert.equal(await request(HONEST, NODE, daemon.port), 'HTTP/1.1 200');
      assert.equal(await request('127.0.0.1', '127.0.0.1', daemon.port), 'HTTP/1.1 200');
    }
    assert.equal(daemon.log.split('too many connections').length - 1, 1, daemon.log);
    const opened = descriptors(daemon.pid) - own;
    assert.ok(opened <= CONNECTIONS_MAX + OWN_MAX, `${opened} descriptors`);
    const grown = daemon.memoryMb - before;
    assert.ok(grown < GROWTH_MAX_MB, `it has grown by ${grown} MB`);
  });
});
