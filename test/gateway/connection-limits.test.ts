// How many connections there may be: the arithmetic, the counting, and real sockets.

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { ConnectionCount, connectionLimits } from '../../src/gateway/connection-limits.js';
import { until } from '../until.js';
import { GatewayUnderTest, SETTINGS } from './gateway-under-test.js';
import { RawConnection } from './raw-connection.js';

/** build/test/gateway/connection-limits.test.js -> the project's root. */
const UNIT = new URL('../../../packaging/tonearm.service', import.meta.url);

/** A configuration's maxClients and the process's limit; what comes of it. */
const ROWS: readonly [clients: number, descriptors: number, connections: number, streams: number][] = [
  [256, 16_384, 768, 256],
  [10_000, 16_384, 10_512, 10_000],
  [256, 4096, 768, 256],
  [256, 1024, 512, 256],
  [10_000, 4096, 2048, 1536],
  [10_000, 1024, 512, 256],
  [256, 100, 50, 25],
  [1, Number.POSITIVE_INFINITY, 513, 1],
];
for (const [clients, descriptors, connections, streams] of ROWS) {
  test(`maxClients ${clients} and ${descriptors} descriptors: ${connections} connections, ${streams} streams`, () => {
    assert.deepEqual(connectionLimits(clients, descriptors), { connections, streams });
  });
}

test('the shipped unit lets the largest maxClients be', () => {
  const unit = readFileSync(UNIT, 'utf8');
  const descriptors = Number(/^LimitNOFILE=(\d+)$/m.exec(unit)?.[1]);
  assert.equal(connectionLimits(10_000, descriptors).streams, 10_000);
});

test('a spell of too many is told once, and is over when half of them have gone', () => {
  let told = 0;
  const count = new ConnectionCount(4, () => {
    told += 1;
  });
  const open = (times: number): boolean[] => Array.from({ length: times }, () => count.opened());
  const close = (times: number): void => {
    for (let left = times; left > 0; left -= 1) count.closed();
  };
  assert.deepEqual(open(6), [true, true, true, true, false, false]);
  close(2);
  close(1);
  assert.deepEqual(open(2), [true, false]);
  assert.equal(told, 1);
  close(1);
  close(2);
  assert.deepEqual(open(3), [true, true, false]);
  assert.equal(told, 2);
});

/** Of this process: both ends of each connection. */
const openDescriptors = (): number => readdirSync('/proc/self/fd').length;

const REQUEST = 'GET /server HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n';

/** Connections that have been answered once each, and stay. */
async function answered(port: number, count: number): Promise<readonly RawConnection[]> {
  const connections = Array.from({ length: count }, () => new RawConnection(port).write(REQUEST));
  await Promise.all(connections.map((connection) => connection.until((text) => text.includes('}'))));
  return connections;
}

test('connections beyond the bound are closed, those within are served, and room that is made is used', async (context) => {
  const bound = 20;
  const told = 'warn too many connections: further ones are closed';
  const under = new GatewayUnderTest(SETTINGS, 2 * bound);
  context.after(() => under.close());
  for (let spell = 1; spell <= 2; spell += 1) {
    const before = openDescriptors();
    const seated = await answered(under.port, bound);
    const further = Array.from({ length: 5 }, () => new RawConnection(under.port).write(REQUEST));
    for (const connection of further) assert.equal(await connection.closed(), '');
    await Promise.all(
      seated.map((connection) => {
        const once = connection.received.length;
        return connection.write(REQUEST).until((text) => text.length === 2 * once);
      }),
    );
    assert.deepEqual(under.logged, Array(spell).fill(told));
    for (const connection of seated) connection.destroy();
    await until('all have left', () => openDescriptors() <= before);
  }
});

test('streams leave connections for requests where descriptors are few, and the log says so', async (context) => {
  const api = { ...SETTINGS.api, sse: { enabled: true, maxClients: 100 } };
  const under = new GatewayUnderTest({ ...SETTINGS, api }, 20);
  context.after(() => under.close());
  assert.deepEqual(under.logged, [
    'warn the limit of open files allows fewer event streams than the configuration',
  ]);
  const stream = 'GET /events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n';
  for (let times = 0; times < 5; times += 1) {
    const seated = new RawConnection(under.port).write(stream);
    assert.match(await seated.until((text) => text.includes('connected')), /^HTTP\/1\.1 200 /);
  }
  // Refused streams do not stay as connections: more of them than there is room for leave all of it to requests.
  for (let times = 0; times < 20; times += 1) {
    const refused = new RawConnection(under.port).write(stream);
    assert.match(await refused.closed(), /^HTTP\/1\.1 503 /);
  }
  assert.equal((await under.fetch({ path: '/server' })).status, 200);
});
