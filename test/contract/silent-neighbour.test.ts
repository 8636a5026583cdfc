// A neighbour opens silent connections again and again. Requests of others, and of the neighbour itself, are
// served, and memory and descriptors of the node stay within their bounds (docs/http-api.md, "Limits"). The
// sockets are real, in a network that only this file has (tools/own-network.ts).
// gateway/connection-choice.test.ts tests which connection is closed.

import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { type TestContext, test } from 'node:test';
import { RawConnection } from '../gateway/raw-connection.js';
import { inOwnNetwork, ip } from '../tools/own-network.js';
import { until } from '../until.js';
import { Daemon, NO_BACKENDS } from './daemon.js';
import { consecutiveAddresses, SilentCrowd } from './silent-crowd.js';

const NODE = '10.9.0.1';
const NODE_V6 = 'fd00:9::1';
const OTHER_NEIGHBOUR = '10.9.0.2';
const OTHER_NEIGHBOUR_V6 = 'fd00:9:0:1::2';
/** One device may have many addresses of its /64 network. These are the addresses of such a device. */
const CROWD_V6 = Array.from({ length: 40 }, (_, index) => `fd00:9:0:2::${index + 1}`);
const ONE_OF_CROWD_V6 = 'fd00:9:0:2::1';
/** Another address of that /64, from which no silent connection comes. */
const UNUSED_BY_CROWD_V6 = 'fd00:9:0:2::9999';
const CROWD = '10.9.0.3';
/** The addresses from which event streams are opened. */
const STREAM_CLIENTS = consecutiveAddresses('10.9.0.20', 8);
const REQUESTS_EACH = 15;
/** The default of `api.sse.maxClients`. */
const STREAMS_MAX = 256;
/**
 * Besides the streams, 512 connections may be open. 1024 more connections wait until other connections are
 * closed.
 */
const CONNECTIONS_MAX = STREAMS_MAX + 512 + 1024;
/** Besides connections, the process may open this many descriptors during the test. */
const OTHER_DESCRIPTORS_MAX = 16;
/**
 * In this test `CONNECTIONS_MAX` connections needed 46 MB, with the garbage of the connections that were
 * closed.
 */
const GROWTH_MAX_MB = 64;
/** The beginning of an answer to a request that is served. */
const SERVED = 'HTTP/1.1 200';

/**
 * A program whose requests must be served: the address that they come from, and the address of the node that
 * they go to.
 */
type Requester = readonly [from: string, to: string];
const LOCAL: Requester = ['127.0.0.1', '127.0.0.1'];
const V4: Requester = [OTHER_NEIGHBOUR, NODE];
const V6: Requester = [OTHER_NEIGHBOUR_V6, NODE_V6];

interface Row {
  readonly what: string;
  readonly from: readonly string[];
  readonly to: string;
  readonly count: number;
  /** The requests begin when the node has closed more connections than this, and some are opened again. */
  readonly closings: number;
  readonly requesters: readonly Requester[];
}

const ROWS: readonly Row[] = [
  {
    what: '800 silent connections of one address',
    from: [CROWD],
    to: NODE,
    count: 800,
    closings: 200,
    requesters: [[CROWD, NODE], V4, V6, LOCAL],
  },
  {
    what: '3000 silent connections of one address (more than may wait)',
    from: [CROWD],
    to: NODE,
    count: 3000,
    closings: 3000,
    // No request comes from `CROWD` itself. Among so many connections of this address, the node may close
    // the one with the request before it has read the request.
    requesters: [V4, V6, LOCAL],
  },
  {
    what: '800 silent connections of one /64',
    from: CROWD_V6,
    to: NODE_V6,
    count: 800,
    closings: 200,
    requesters: [[ONE_OF_CROWD_V6, NODE_V6], [UNUSED_BY_CROWD_V6, NODE_V6], V6, V4, LOCAL],
  },
  {
    what: '800 silent connections of programs on the node',
    from: ['127.0.0.1'],
    to: '127.0.0.1',
    count: 800,
    closings: 100,
    requesters: [LOCAL, V4, V6],
  },
];

const countDescriptors = (pid: number): number => readdirSync(`/proc/${pid}/fd`).length;

/** Sends one request, and resolves with the beginning of its answer. */
async function request([from, to]: Requester, port: number): Promise<string> {
  const host = to.includes(':') ? `[${to}]` : to;
  const text = `GET /server HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`;
  return (await new RawConnection(port, to, from).write(text).untilClosed()).slice(0, SERVED.length);
}

async function assertServed(requesters: readonly Requester[], port: number): Promise<void> {
  for (let count = 0; count < REQUESTS_EACH; count += 1)
    for (const requester of requesters) assert.equal(await request(requester, port), SERVED, `${requester}`);
}

async function openStream(from: string, port: number): Promise<RawConnection> {
  const stream = new RawConnection(port, NODE, from).write(`GET /events HTTP/1.1\r\nHost: ${NODE}\r\n\r\n`);
  await stream.until((text) => text.includes('connected'));
  return stream;
}

inOwnNetwork(import.meta.url, () => {
  for (const address of [NODE, OTHER_NEIGHBOUR, CROWD, ...STREAM_CLIENTS])
    ip('addr', 'add', `${address}/24`, 'dev', 'lo');
  for (const address of [NODE_V6, OTHER_NEIGHBOUR_V6, UNUSED_BY_CROWD_V6, ...CROWD_V6])
    ip('addr', 'add', `${address}/64`, 'dev', 'lo', 'nodad');

  const startNode = (t: TestContext): Promise<Daemon> =>
    Daemon.start({ config: `${NO_BACKENDS}bind: [lo, ${NODE}, '${NODE_V6}']\n` }, t);

  for (const { what, from, to, count, closings, requesters } of ROWS) {
    test(`requests are answered while ${what} are opened again whenever the node closes them`, async (t) => {
      const daemon = await startNode(t);
      const memoryBefore = daemon.memoryMb;
      const openBefore = countDescriptors(daemon.pid);
      const crowd = new SilentCrowd({ host: to, port: daemon.port }, from, count);
      t.after(() => crowd.end());
      await until('connections are being closed', () => crowd.closings > closings);
      await assertServed(requesters, daemon.port);
      // The log has at most one such line in an hour.
      const warnings = daemon.log.match(/too many connections/g) ?? [];
      assert.equal(warnings.length, 1, daemon.log);
      const opened = countDescriptors(daemon.pid) - openBefore;
      assert.ok(opened <= CONNECTIONS_MAX + OTHER_DESCRIPTORS_MAX, `${opened} descriptors`);
      const grown = daemon.memoryMb - memoryBefore;
      assert.ok(grown < GROWTH_MAX_MB, `the daemon has grown by ${grown} MB`);
    });
  }

  test('a node keeps the largest number of streams and answers requests while silent connections are opened again', async (t) => {
    const daemon = await startNode(t);
    const streams: RawConnection[] = [];
    t.after(() => {
      for (const stream of streams) stream.destroy();
    });
    for (let count = 0; count < STREAMS_MAX; count += 1)
      streams.push(await openStream(STREAM_CLIENTS[count % STREAM_CLIENTS.length] ?? '', daemon.port));
    const crowds = [
      new SilentCrowd({ host: NODE, port: daemon.port }, [CROWD], 500),
      new SilentCrowd({ host: NODE_V6, port: daemon.port }, CROWD_V6, 500),
      new SilentCrowd({ host: NODE, port: daemon.port }, STREAM_CLIENTS, 500),
    ];
    t.after(() => {
      for (const crowd of crowds) crowd.end();
    });
    await until('connections are being closed', () => crowds.every(({ closings }) => closings > 200));
    const fromCrowds: readonly Requester[] = [
      [CROWD, NODE],
      [ONE_OF_CROWD_V6, NODE_V6],
      [STREAM_CLIENTS[0] ?? '', NODE],
    ];
    await assertServed([V4, V6, LOCAL, ...fromCrowds], daemon.port);
    assert.equal((await daemon.health()).streams.open, STREAMS_MAX);
  });
});
