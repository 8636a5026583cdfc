// A neighbour opens silent connections again and again: requests of others, and of the same address, are
// served, and the node's memory and descriptors stay within their bounds (docs/http-api.md, "Limits"; real
// sockets from several addresses, in a network of its own). Which connection is closed:
// gateway/connection-choice.test.ts.

import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { type TestContext, test } from 'node:test';
import { RawConnection } from '../gateway/raw-connection.js';
import { inOwnNetwork, ip } from '../tools/own-network.js';
import { until } from '../until.js';
import { Daemon, NO_BACKENDS } from './daemon.js';
import { addresses, SilentCrowd } from './silent-crowd.js';

const NODE = '10.9.0.1';
const NODE_V6 = 'fd00:9::1';
const NEIGHBOUR = '10.9.0.2';
const NEIGHBOUR_V6 = 'fd00:9:0:1::2';
/** All of one /64, as one device may have them. */
const CROWD_V6 = Array.from({ length: 40 }, (_, at) => `fd00:9:0:2::${at + 1}`);
const CROWD = '10.9.0.3';
const LISTENERS = addresses('10.9.0.20', 8);
const REQUESTS = 15;
/** 256 streams and 512 others, and 1024 that wait until others are closed. */
const CONNECTIONS_MAX = 256 + 512 + 1024;
/** The process itself may open this many meanwhile. */
const OWN_MAX = 16;
/** All those connections needed 46 MB in this test, with the garbage of those that come and go. */
const GROWTH_MAX_MB = 64;
const MAX_CLIENTS = 256;

/**
 * A neighbour that is served: the address that its requests come from, and the address of the node that they
 * go to.
 */
type Asker = readonly [from: string, to: string];
const LOCAL: Asker = ['127.0.0.1', '127.0.0.1'];
const V4: Asker = [NEIGHBOUR, NODE];
const V6: Asker = [NEIGHBOUR_V6, NODE_V6];

interface Row {
  readonly what: string;
  readonly from: readonly string[];
  readonly to: string;
  readonly count: number;
  /** After this many, some connections have already come back. */
  readonly closings: number;
  readonly askers: readonly Asker[];
}

const ROWS: readonly Row[] = [
  {
    what: '800 silent connections of one address',
    from: [CROWD],
    to: NODE,
    count: 800,
    closings: 200,
    askers: [[CROWD, NODE], V4, V6, LOCAL],
  },
  {
    what: '3000 silent connections of one address, more than may wait',
    from: [CROWD],
    to: NODE,
    count: 3000,
    closings: 3000,
    askers: [V4, V6, LOCAL],
  },
  {
    what: '800 silent connections of one /64',
    from: CROWD_V6,
    to: NODE_V6,
    count: 800,
    closings: 200,
    askers: [['fd00:9:0:2::1', NODE_V6], ['fd00:9:0:2::9999', NODE_V6], V6, V4, LOCAL],
  },
  {
    what: '800 silent connections of programs on the node',
    from: ['127.0.0.1'],
    to: '127.0.0.1',
    count: 800,
    closings: 100,
    askers: [LOCAL, V4, V6],
  },
];

const descriptors = (pid: number): number => readdirSync(`/proc/${pid}/fd`).length;

/** The beginning of the answer. */
async function request([from, to]: Asker, port: number): Promise<string> {
  const host = to.includes(':') ? `[${to}]` : to;
  const text = `GET /server HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`;
  return (await new RawConnection(port, to, from).write(text).closed()).slice(0, 12);
}

async function assertServed(askers: readonly Asker[], port: number): Promise<void> {
  for (let count = 0; count < REQUESTS; count += 1)
    for (const asker of askers) assert.equal(await request(asker, port), 'HTTP/1.1 200', `${asker}`);
}

async function openStream(from: string, port: number): Promise<RawConnection> {
  const stream = new RawConnection(port, NODE, from).write(`GET /events HTTP/1.1\r\nHost: ${NODE}\r\n\r\n`);
  await stream.until((text) => text.includes('connected'));
  return stream;
}

inOwnNetwork(import.meta.url, () => {
  for (const address of [NODE, NEIGHBOUR, CROWD, ...LISTENERS])
    ip('addr', 'add', `${address}/24`, 'dev', 'lo');
  for (const address of [NODE_V6, NEIGHBOUR_V6, 'fd00:9:0:2::9999', ...CROWD_V6])
    ip('addr', 'add', `${address}/64`, 'dev', 'lo', 'nodad');

  const start = (t: TestContext): Promise<Daemon> =>
    Daemon.start({ config: `${NO_BACKENDS}bind: [lo, ${NODE}, '${NODE_V6}']\n` }, t);

  for (const { what, from, to, count, closings, askers } of ROWS) {
    test(`requests are answered beside ${what} that come back`, async (t) => {
      const daemon = await start(t);
      const before = daemon.memoryMb;
      const own = descriptors(daemon.pid);
      const crowd = new SilentCrowd({ host: to, port: daemon.port }, from, count);
      t.after(() => crowd.end());
      await until('connections are being closed', () => crowd.closings > closings);
      await assertServed(askers, daemon.port);
      assert.equal(daemon.log.split('too many connections').length - 1, 1, daemon.log);
      const opened = descriptors(daemon.pid) - own;
      assert.ok(opened <= CONNECTIONS_MAX + OWN_MAX, `${opened} descriptors`);
      const grown = daemon.memoryMb - before;
      assert.ok(grown < GROWTH_MAX_MB, `it has grown by ${grown} MB`);
    });
  }

  test('requests are answered, and streams stay, beside a full house and a silent crowd', async (t) => {
    const daemon = await start(t);
    const streams: RawConnection[] = [];
    t.after(() => {
      for (const stream of streams) stream.destroy();
    });
    for (let at = 0; at < MAX_CLIENTS; at += 1)
      streams.push(await openStream(LISTENERS[at % LISTENERS.length] ?? '', daemon.port));
    const crowds = [
      new SilentCrowd({ host: NODE, port: daemon.port }, [CROWD], 500),
      new SilentCrowd({ host: NODE_V6, port: daemon.port }, CROWD_V6, 500),
      new SilentCrowd({ host: NODE, port: daemon.port }, LISTENERS, 500),
    ];
    t.after(() => {
      for (const crowd of crowds) crowd.end();
    });
    await until('connections are being closed', () => crowds.every(({ closings }) => closings > 200));
    const fromCrowds: readonly Asker[] = [
      [CROWD, NODE],
      ['fd00:9:0:2::1', NODE_V6],
      [LISTENERS[0] ?? '', NODE],
    ];
    await assertServed([V4, V6, LOCAL, ...fromCrowds], daemon.port);
    assert.equal((await daemon.health()).streams.open, MAX_CLIENTS);
  });
});
