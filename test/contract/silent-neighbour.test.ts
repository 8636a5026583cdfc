// Neighbours open silent connections again and again: others are served, and the node's memory and descriptors stay within
// their bounds (docs/http-api.md, "Limits"; real sockets from many addresses, in a network of its own).

import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { test } from 'node:test';
import { RawConnection } from '../gateway/raw-connection.js';
import { inOwnNetwork, ip } from '../tools/own-network.js';
import { until } from '../until.js';
import { Daemon, NO_BACKENDS } from './daemon.js';
import { addresses, SilentCrowd } from './silent-crowd.js';

const NODE = '10.9.0.1';
const HONEST = '10.9.0.2';
const HOSTS = addresses('10.9.0.3', 50);
const SILENT = 1000;
/** The default; one address may have half as many connections. */
const STREAMS_MAX = 256;
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

/** The addresses of other clients, and the address to which each connects. */
type Other = readonly [from: string, to: string];
const HERE: Other = ['127.0.0.1', '127.0.0.1'];
const ELSEWHERE: Other = [HONEST, NODE];
/** The silent addresses, and the others that must be served. */
const CROWDS: readonly (readonly [what: string, from: readonly string[], to: string, readonly Other[]])[] = [
  ['one address', HOSTS.slice(0, 1), NODE, [ELSEWHERE, HERE]],
  // Together they take all that others than loopback may have.
  ['fifty addresses', HOSTS, NODE, [HERE]],
  // All addresses of the machine itself count as one neighbour, so that only other machines are distinguished from it.
  ['fifty addresses of the machine itself', addresses('127.0.0.2', 50), '127.0.0.1', [ELSEWHERE]],
];

/** The beginning of the answer. */
async function request(from: string, to: string, port: number): Promise<string> {
  return (await new RawConnection(port, to, from).write(REQUEST).closed()).slice(0, 12);
}

const descriptors = (pid: number): number => readdirSync(`/proc/${pid}/fd`).length;

inOwnNetwork(import.meta.url, () => {
  for (const address of [NODE, HONEST, ...HOSTS]) ip('addr', 'add', `${address}/24`, 'dev', 'lo');

  test('a client that opens all streams leaves some to others', async (t) => {
    const daemon = await Daemon.start({ config: `${NO_BACKENDS}bind: [lo, ${NODE}]\n` }, t);
    const stream = `GET /events HTTP/1.1\r\nHost: ${NODE}\r\n\r\n`;
    const opened: RawConnection[] = [];
    t.after(() => {
      for (const one of opened) one.destroy();
    });
    const open = (from: string): RawConnection => {
      const one = new RawConnection(daemon.port, NODE, from).write(stream);
      opened.push(one);
      return one;
    };
    let closings = 0;
    for (let count = 0; count < STREAMS_MAX; count += 1) {
      void open(HOSTS[0] ?? '')
        .closed()
        .then(() => {
          closings += 1;
        });
    }
    await until('half of its streams are closed', () => closings === STREAMS_MAX / 2);
    assert.match(await open(HONEST).until((text) => text.includes('connected')), /^HTTP\/1\.1 200 /);
  });

  for (const [what, from, to, others] of CROWDS) {
    test(`requests of others are answered beside ${SILENT} silent connections that come back, from ${what}`, async (t) => {
      const daemon = await Daemon.start({ config: `${NO_BACKENDS}bind: [lo, ${NODE}]\n` }, t);
      const before = daemon.memoryMb;
      const own = descriptors(daemon.pid);
      const crowd = new SilentCrowd({ host: to, port: daemon.port }, from, SILENT);
      t.after(() => crowd.end());
      await until('connections are being closed', () => crowd.closings > CLOSINGS);
      const answers: string[] = [];
      for (let count = 0; count < REQUESTS; count += 1) {
        for (const [mine, theirs] of others) answers.push(await request(mine, theirs, daemon.port));
      }
      assert.deepEqual(answers, Array(others.length * REQUESTS).fill('HTTP/1.1 200'));
      assert.equal(daemon.log.split('too many connections').length - 1, 1, daemon.log);
      const opened = descriptors(daemon.pid) - own;
      assert.ok(opened <= CONNECTIONS_MAX + OWN_MAX, `${opened} descriptors`);
      const grown = daemon.memoryMb - before;
      assert.ok(grown < GROWTH_MAX_MB, `it has grown by ${grown} MB`);
    });
  }
});
