// Listening and closing.

import assert from 'node:assert/strict';
import { connect, createServer } from 'node:net';
import { test } from 'node:test';
import type { Answer } from '../../src/protocol/actor/commands.js';
import { GatewayUnderTest } from './gateway-under-test.js';
import { RawConnection } from './raw-connection.js';

test('a port that another gateway has is refused, not shared', async (context) => {
  const gateways = [GatewayUnderTest.up(), GatewayUnderTest.up()] as const;
  context.after(() => Promise.all(gateways.map((one) => one.close())));
  // A port that was asked for by number: only such a one can be shared, and at this address it is free.
  const { port } = gateways[0];
  assert.deepEqual(gateways[0].gateway.listen(['127.0.0.2'], port), { ok: true, port });
  assert.deepEqual(gateways[1].gateway.listen(['127.0.0.2'], port), { ok: false, address: '127.0.0.2' });
});

test('a port that another program has is refused', async (context) => {
  const under = GatewayUnderTest.up();
  const other = createServer();
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
  context.after(async () => {
    other.close();
    await under.close();
  });
  const address = other.address();
  assert.ok(address !== null && typeof address === 'object');
  assert.equal(under.gateway.listen(['127.0.0.1'], address.port).ok, false);
});

test('an address of another machine is named, and none of the others is listened on', async (context) => {
  const under = GatewayUnderTest.up();
  context.after(() => under.close());
  const result = under.gateway.listen(['127.0.0.2', '192.0.2.1'], under.port);
  assert.deepEqual(result, { ok: false, address: '192.0.2.1' });
  const refused = new Promise((resolve) => connect(under.port, '127.0.0.2').once('error', resolve));
  assert.match(String(await refused), /ECONNREFUSED/);
});

test('several addresses share one port', async (context) => {
  const under = GatewayUnderTest.up();
  context.after(() => under.close());
  const result = under.gateway.listen(['127.0.0.2', '127.0.0.3'], 0);
  assert.ok(result.ok);
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

test('closing with nothing open is immediate, twice too', async () => {
  const under = GatewayUnderTest.up();
  await under.close();
  await under.close();
});
