// The connection under an event stream. What is in the stream is tested with the hub, its bounds on the built daemon.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GatewayUnderTest } from './gateway-under-test.js';
import { RawConnection } from './raw-connection.js';
import { put, stream } from './scripted-backends.js';

const HEAD = 'HTTP/1.1\r\nHost: 127.0.0.1\r\n';

function subscribe(under: GatewayUnderTest, query = ''): RawConnection {
  return new RawConnection(under.port).write(`GET /events${query} ${HEAD}\r\n`);
}

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
  const under = GatewayUnderTest.up().within(context);
  const consumer = subscribe(under, '?types=audio.updated');
  await consumer.until((text) => wholeChunks(text).endsWith('data: "connected"\n\n'));
  for (const id of [17, 18]) {
    under.gateway.listener.changes('audio', [put('audio.clients', String(id), stream(id))]);
    const seen = await consumer.until((text) => wholeChunks(text).includes(`data: [{"id":${id},`));
    assert.match(wholeChunks(seen), /\}\]\n\n$/);
  }
  consumer.destroy();
});
