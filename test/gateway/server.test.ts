// Tests listening, the limits of connections, and closing. Streams must leave some connections for requests.
// connection-choice.test.ts tests which connection is closed. contract/silent-neighbour.test.ts opens too
// many connections on real sockets.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { type ConnectionLimits, connectionLimits } from '../../src/gateway/connection-limits.js';
import { listenError } from '../../src/gateway/listen-error.js';
import { until } from '../until.js';
import { GatewayUnderTest, SETTINGS } from './gateway-under-test.js';
import { RawConnection } from './raw-connection.js';

test('a gateway is refused the port of another gateway, and `listenError` returns the reason of the kernel', async (context) => {
  const first = GatewayUnderTest.up().closeAtEndOf(context);
  const second = GatewayUnderTest.up().closeAtEndOf(context);
  // At 127.0.0.1 the kernel has chosen a free port for each gateway, so the two ports differ. Here both
  // gateways request the same port by its number, at another address, where nobody listens on it yet.
  const { port } = first;
  assert.deepEqual(first.gateway.listen(['127.0.0.2'], port).refused, []);
  assert.deepEqual(second.gateway.listen(['127.0.0.2'], port), { port, refused: ['127.0.0.2'] });
  assert.equal(await listenError('127.0.0.2', port), 'EADDRINUSE');
});

test('few descriptors allow only few streams, and a stream that ends makes room for another', async (context) => {
  const api = { ...SETTINGS.api, sse: { enabled: true, maxClients: 100 } };
  const under = new GatewayUnderTest({ settings: { ...SETTINGS, api }, descriptorsMax: 20 }).closeAtEndOf(
    context,
  );
  const warning = 'warn the limit of open files allows fewer event streams than the configuration';
  assert.deepEqual(under.logged, [warning]);

  // `connectionLimits` gives half of the 20 descriptors to connections, and half of these to streams.
  const MAX_STREAMS = 5;
  // These requests open no stream, so they use up none of the five places. Six of each are sent, one more
  // than the places.
  for (let times = 0; times <= MAX_STREAMS; times += 1) {
    // `server.info` is always sent, so a query that excludes it is refused.
    assert.equal((await under.fetch({ path: '/events?exclude=server.info' })).status, 400);
    const { status, headers } = await under.fetch({ method: 'HEAD', path: '/events' });
    assert.deepEqual([status, headers['content-type']], [200, 'text/event-stream']);
    assert.deepEqual([headers['cache-control'], headers['x-accel-buffering']], ['no-cache', 'no']);
    // The client knows the node's time from this header, which uWebSockets.js writes.
    assert.ok(Math.abs(Date.parse(headers['date'] ?? '') - Date.now()) < 60_000, headers['date']);
  }
  const stream = 'GET /events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n';
  const openStream = async (): Promise<RawConnection> => {
    const connection = new RawConnection(under.port).write(stream);
    assert.match(await connection.until((text) => text.includes('connected')), /^HTTP\/1\.1 200 /);
    return connection;
  };
  const streams: RawConnection[] = [];
  while (streams.length < MAX_STREAMS) streams.push(await openStream());

  // The connection of a refused stream ends. So even 20 refused streams, twice as many as the connections
  // that may be open, leave room for requests.
  for (let times = 0; times < 20; times += 1) {
    const refused = new RawConnection(under.port).write(stream);
    const answer = await refused.untilClosed();
    assert.match(answer, /^HTTP\/1\.1 503 [\s\S]*Retry-After: [1-9][\s\S]*"urn:tonearm:problem:/);
  }
  streams[0]?.destroy();
  const openCount = async () => ((await under.json('/health')) as { streams: { open: number } }).streams.open;
  await until('one stream has ended', async () => (await openCount()) === MAX_STREAMS - 1);
  await openStream();
  assert.equal((await under.fetch({ path: '/server' })).status, 200);
});

test('a closing server completes an answer under way, and refuses new requests', async () => {
  const reboot = 'POST /power/reboot HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n';
  const under = GatewayUnderTest.up();
  const answer = under.backends.hold();
  const idle = new RawConnection(under.port).write('GET /server HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n');
  await idle.until((text) => text.includes('}'));
  const waiting = new RawConnection(under.port).write(reboot);
  await under.backends.untilRequested(1);

  const closed = under.close();
  idle.write(reboot);
  const refused = await idle.until((text) => text.includes('shutting-down'));
  assert.match(refused, /HTTP\/1\.1 503 [\s\S]*Retry-After: /);
  answer.resolve({ ok: true, value: {} });
  await closed;
  assert.match(await waiting.untilClosed(), /^HTTP\/1\.1 202 /);
  assert.equal(under.backends.requests.length, 1);
});

/** build/test/gateway/server.test.js -> the project's root. */
const ROOT = new URL('../../../', import.meta.url);
const UNIT = new URL('packaging/tonearm.service', ROOT);
const CONFIGURATION = new URL('docs/configuration.md', ROOT);

/**
 * The rows follow from the constants of connection-limits.ts:
 *
 * - `connections` is `maxClients` plus 512 for requests. Connections may use all descriptors but 512, or
 *   half of them if this is more: 588 of 1100, and 50 of 100.
 * - `streams` is `maxClients`. Streams may use all connections but 512, or half of them if this is more:
 *   3072 of 3584, and 25 of 50.
 * - `spare` is what the connections and 512 other descriptors leave of all descriptors, at most 1024.
 * - `reservedPerSide` is an eighth of the connections.
 * - `perPeer` is half of the streams, but at least 32.
 */
const LIMITS: readonly (readonly [maxClients: number, descriptors: number, limits: ConnectionLimits])[] = [
  [256, 16_384, { connections: 768, spare: 1024, streams: 256, reservedPerSide: 96, perPeer: 128 }],
  [
    10_000,
    16_384,
    { connections: 10_512, spare: 1024, streams: 10_000, reservedPerSide: 1314, perPeer: 5000 },
  ],
  [256, 1100, { connections: 588, spare: 0, streams: 256, reservedPerSide: 73, perPeer: 128 }],
  [10_000, 4096, { connections: 3584, spare: 0, streams: 3072, reservedPerSide: 448, perPeer: 1536 }],
  [256, 100, { connections: 50, spare: 0, streams: 25, reservedPerSide: 6, perPeer: 32 }],
  [
    1,
    Number.POSITIVE_INFINITY,
    { connections: 513, spare: 1024, streams: 1, reservedPerSide: 64, perPeer: 32 },
  ],
];
for (const [maxClients, descriptors, limits] of LIMITS) {
  test(`maxClients ${maxClients} and ${descriptors} descriptors give the limits ${JSON.stringify(limits)}`, () =>
    assert.deepEqual(connectionLimits(maxClients, descriptors), limits));
}

test('the shipped unit allows as many descriptors as the largest maxClients needs', () => {
  const unit = readFileSync(UNIT, 'utf8');
  const descriptors = Number(/^LimitNOFILE=(\d+)$/m.exec(unit)?.[1]);
  assert.equal(connectionLimits(10_000, descriptors).streams, 10_000);
});

test('all configured streams are allowed if the limit of open files is as docs demand, and one fewer just below', () => {
  const keys = readFileSync(CONFIGURATION, 'utf8');
  // The table says how many open files are needed beside the streams: `... this number plus 1024 ...`.
  const further = Number(/^\| `api\.sse\.maxClients` .* this number plus (\d+) /m.exec(keys)?.[1]);
  assert.equal(connectionLimits(10_000, 10_000 + further).streams, 10_000);
  assert.equal(connectionLimits(10_000, 10_000 + further - 1).streams, 9_999);
});

test('the comment of the shipped unit counts exactly the descriptors that the daemon may use', () => {
  const unit = readFileSync(UNIT, 'utf8');
  // The comment counts the descriptors beside the 10 000 streams: `..., and 2048 more: ...`.
  const further = Number(/, and (\d+) more: /.exec(unit)?.[1]);
  const { spare } = connectionLimits(10_000, Number.POSITIVE_INFINITY);
  assert.equal(connectionLimits(10_000, 10_000 + further).spare, spare);
  assert.equal(connectionLimits(10_000, 10_000 + further - 1).spare, spare - 1);
});
