// The connection under an event stream: first bytes, order, slow consumers, limits and the end. What is in the
// stream is tested with the hub.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GatewayUnderTest, SETTINGS } from './gateway-under-test.js';
import { RawConnection } from './raw-connection.js';
import { put, stream } from './scripted-backends.js';

const HEAD = 'HTTP/1.1\r\nHost: 127.0.0.1\r\n';

function subscribe(under: GatewayUnderTest, query = ''): RawConnection {
  return new RawConnection(under.port).write(`GET /events${query} ${HEAD}\r\n`);
}

const isConnected = (text: string): boolean => text.includes('data: "connected"');

test('the head and the first event come at once, the next as they happen', async (context) => {
  const under = GatewayUnderTest.up();
  context.after(() => under.close());
  const consumer = subscribe(under);
  const head = await consumer.until(isConnected);
  assert.match(head, /^HTTP\/1\.1 200 OK\r\n/);
  for (const line of [
    'Content-Type: text/event-stream',
    'Cache-Control: no-cache',
    'X-Accel-Buffering: no',
  ]) {
    assert.ok(head.includes(`\r\n${line}\r\n`), line);
  }
  under.gateway.listener.changes('audio', [put('audio.clients', '9', stream(9))]);
  await consumer.until((text) => /event: audio\.updated\n(id: .*\n)?data: \[\{"id":9,/.test(text));
  consumer.destroy();
});

/** The body as far as its chunks have ended (RFC 9112, section 7.1): all that a client gets that takes whole chunks only. */
function wholeChunks(text: string): string {
  let body = '';
  let at = text.indexOf('\r\n\r\n') + 4;
  for (;;) {
    const lineEnd = text.indexOf('\r\n', at);
    const size = Number.parseInt(text.slice(at, lineEnd), 16);
    const end = lineEnd + 2 + size;
    if (lineEnd < 0 || Number.isNaN(size) || text.slice(end, end + 2) !== '\r\n') return body;
    body += text.slice(lineEnd + 2, end);
    at = end + 2;
  }
}

test('each event comes in chunks that have ended, for clients that wait for the end of a chunk', async (context) => {
  const under = GatewayUnderTest.up();
  context.after(() => under.close());
  const consumer = subscribe(under, '?types=audio.updated');
  await consumer.until((text) => wholeChunks(text).endsWith('data: "connected"\n\n'));
  for (const id of [17, 18]) {
    under.gateway.listener.changes('audio', [put('audio.clients', String(id), stream(id))]);
    const seen = await consumer.until((text) => wholeChunks(text).includes(`data: [{"id":${id},`));
    assert.match(wholeChunks(seen), /\}\]\n\n$/);
  }
  consumer.destroy();
});

test('HEAD has the head and no stream, and the connection goes on', async (context) => {
  const under = GatewayUnderTest.up();
  context.after(() => under.close());
  const one = new RawConnection(under.port).write(`HEAD /events ${HEAD}\r\n`);
  await one.until((text) => text.includes('text/event-stream') && text.endsWith('\r\n\r\n'));
  one.write(`GET /health ${HEAD}\r\n`);
  await one.until((text) => text.includes('"open":0'));
  one.destroy();
});

test('streams over the limit are 503, and a place is free again when its consumer has gone', async (context) => {
  const under = GatewayUnderTest.up();
  context.after(() => under.close());
  const consumers = Array.from({ length: SETTINGS.api.sse.maxClients }, () => subscribe(under));
  await Promise.all(consumers.map((consumer) => consumer.until(isConnected)));
  const refused = await under.fetch({ path: '/events' });
  assert.equal(refused.status, 503);
  assert.notEqual(refused.headers['retry-after'], undefined);
  consumers[0]?.destroy();
  while (!(await under.fetch({ path: '/health' })).text.includes('"open":3')) assert.ok(true);
  const next = subscribe(under);
  await next.until(isConnected);
  for (const consumer of [...consumers, next]) consumer.destroy();
});

test('a consumer that stopped reading gets the true last state when it reads again', async (context) => {
  const under = GatewayUnderTest.up();
  context.after(() => under.close());
  const slow = subscribe(under, '?types=audio.updated');
  await slow.until(isConnected);
  slow.pause();
  const pad = 'x'.repeat(60_000);
  for (let round = 0; round < 200; round += 1) {
    under.gateway.listener.changes('audio', [put('audio.clients', '7', { ...stream(7), round, pad })]);
    if (round % 20 === 0) await new Promise((resolve) => setImmediate(resolve));
  }
  slow.resume();
  await slow.until((text) => text.includes('"round":199,'));
  slow.destroy();
});

test('closing says bye, ends every stream and refuses new connections', async () => {
  const under = GatewayUnderTest.up();
  const consumers = [subscribe(under), subscribe(under)];
  await Promise.all(consumers.map((consumer) => consumer.until(isConnected)));
  await under.close();
  for (const consumer of consumers)
    assert.match(await consumer.closed(), /data: "bye"\n\n\r\n2\r\n:\n\r\n0\r\n\r\n$/);
  const late = new RawConnection(under.port);
  assert.equal(await late.closed(), '');
});
