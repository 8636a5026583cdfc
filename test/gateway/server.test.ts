// Listening and closing.

import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import { test } from 'node:test';
import { whyRefused } from '../../src/gateway/listening.js';
import type { Answer } from '../../src/protocol/actor/commands.js';
import { until } from '../until.js';
import { GatewayUnderTest } from './gateway-under-test.js';
import { RawConnection } from './raw-connection.js';

const NEVER_MS = 2 ** 31 - 1;

test('a port that another gateway has is refused, not shared, and the kernel says why', async (context) => {
  const gateways = [GatewayUnderTest.up(), GatewayUnderTest.up()] as const;
  context.after(() => Promise.all(gateways.map((one) => one.close())));
  // A port that was asked for by number: only such a one can be shared, and at this address it is free.
  const { port } = gateways[0];
  assert.deepEqual(gateways[0].gateway.listen(['127.0.0.2'], port).refused, []);
  assert.deepEqual(gateways[1].gateway.listen(['127.0.0.2'], port), {
    port,
    addresses: [],
    refused: ['127.0.0.2'],
  });
  assert.equal(await whyRefused('127.0.0.2', port), 'EADDRINUSE');
});

test('a port that another program has is refused, and taken when it is free', async (context) => {
  const under = GatewayUnderTest.up();
  const other = createServer();
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.2', resolve));
  context.after(() => under.close());
  const address = other.address();
  assert.ok(address !== null && typeof address === 'object');
  assert.deepEqual(under.gateway.listen(['127.0.0.2'], address.port).refused, ['127.0.0.2']);
  assert.equal(await whyRefused('127.0.0.2', address.port), 'EADDRINUSE');
  const health = async () => JSON.parse((await under.fetch({ path: '/health' })).text);
  assert.deepEqual((await health()).waiting, ['127.0.0.2']);
  await new Promise((resolve) => other.close(resolve));
  await until('it listens', async () => (await health()).listening.includes('127.0.0.2'));
  assert.deepEqual((await health()).waiting, []);
  assert.equal(await whyRefused('127.0.0.3', address.port), undefined);
});

test('an address of another machine is waited for, and the others are listened on', async (context) => {
  const under = GatewayUnderTest.up();
  context.after(() => under.close());
  const result = under.gateway.listen(['127.0.0.2', '192.0.2.1'], under.port);
  assert.deepEqual(result, { port: under.port, addresses: ['127.0.0.2'], refused: [] });
  assert.equal(await whyRefused('192.0.2.1', under.port), 'EADDRNOTAVAIL');
});

test('several addresses share one port', async (context) => {
  const under = GatewayUnderTest.up();
  context.after(() => under.close());
  const result = under.gateway.listen(['127.0.0.2', '127.0.0.3'], 0);
  assert.deepEqual(result.addresses, ['127.0.0.2', '127.0.0.3']);
  assert.notEqual(result.port, 0);
});

test('closing lets an answer under way end, and refuses what comes meanwhile', async () => {
  const under = GatewayUnderTest.up();
  let settle: (answer: Answer) => void = () => assert.fail('nothing was asked');
  under.backends.answer = new Promise((resolve) => {
    settle = resolve;
  });
  const idle = new RawConnection(under.port).write('GET /server HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n');
  await idle.until((text) => text.includes('}'));
  const waiting = new RawConnection(under.port).write(
    'POST /power/reboot HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n',
  );
  while (under.backends.asked.length === 0) await new Promise((resolve) => setImmediate(resolve));

  const closed = under.close();
  idle.write('POST /power/reboot HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n');
  const refused = await idle.until((text) => text.includes('shutting-down'));
  assert.match(refused, /HTTP\/1\.1 503 [\s\S]*Retry-After: /);
  settle({ ok: true });
  await closed;
  assert.match(await waiting.closed(), /^HTTP\/1\.1 202 /);
  assert.equal(under.backends.asked.length, 1);
});

test('closing with nothing open waits for nothing, and the second close is the first', async () => {
  const under = GatewayUnderTest.up();
  assert.equal(await whyRefused('127.0.0.1', under.port), 'EADDRINUSE');
  const closed = under.gateway.close(NEVER_MS);
  assert.equal(under.gateway.close(0), closed);
  await closed;
  assert.equal(await whyRefused('127.0.0.1', under.port), undefined);
});
