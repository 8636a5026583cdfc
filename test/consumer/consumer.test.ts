// The consumer over real connections: it hears, waits, breaks off and comes back with its last id.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { EventConsumer } from './consumer.js';

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

async function serve(t: TestContext, handler: Handler): Promise<string> {
  const server = createServer(handler);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/events`;
}

const stream: Handler = ({ headers }, response) => {
  response.writeHead(200, { 'Content-Type': 'text/event-stream' });
  const after = Number(headers['last-event-id'] ?? 0);
  response.write(`retry: 2500\nevent: server.info\ndata: "connected"\n\n`);
  response.write(`id: ${after + 1}\nevent: audio.updated\ndata: [{"id":${after + 1}}]\n\n`);
};

test('it comes back with its last id', async (t) => {
  const consumer = await EventConsumer.open(await serve(t, stream));
  await consumer.until(({ lastEventId }) => lastEventId === '1');
  await consumer.reconnect();
  await consumer.until(({ lastEventId }) => lastEventId === '2');
  assert.deepEqual([...consumer.model.clients.keys()], ['1', '2']);
});

test('it notices the end of its connection, orderly or not', async (t) => {
  for (const end of ['end', 'destroy'] as const) {
    const url = await serve(t, (_request, response) => {
      response.writeHead(200, { 'Content-Type': 'text/event-stream' });
      response.write('data: incomplete', () => response[end]());
    });
    const consumer = await EventConsumer.open(url);
    await consumer.until(({ ended }) => ended);
    assert.deepEqual(consumer.events, []);
  }
});

test('a failing condition rejects at once', async (t) => {
  const consumer = await EventConsumer.open(await serve(t, stream));
  const failing = consumer.until(() => assert.fail('no'), 'nothing');
  await assert.rejects(failing, /no/);
});
