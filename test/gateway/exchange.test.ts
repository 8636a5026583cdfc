// The byte sink under a stream, on a real connection without a hub: the meaning of a refused write, and when writing may continue.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ByteSink } from '../../src/gateway/events/stream.js';
import type { Exchange } from '../../src/gateway/exchange.js';
import { createServer } from '../../src/gateway/server.js';
import { ManualClock } from '../manual-clock.js';
import { RawConnection } from './raw-connection.js';

/** An odd size, so that a kernel buffer does not end at the end of a piece. */
const PIECE = Buffer.alloc(100_001, 'x');
/** More pieces than the kernel can buffer for a connection on loopback. */
const PIECES_MAX = 1000;

interface Scene {
  readonly sink: ByteSink;
  readonly writable: Promise<void>;
  readonly gone: Promise<void>;
}

/** Serves every request with a stream and hands it to the test. */
async function openScene(context: { after(end: () => Promise<void>): void }) {
  let opened: (scene: Scene) => void = () => undefined;
  const scene = new Promise<Scene>((resolve) => {
    opened = resolve;
  });
  const server = createServer(
    {
      serve: (exchange: Exchange) => {
        const { sink, attach } = exchange.openStream([['Content-Type', 'text/event-stream\r\nX-Evil: 1']]);
        sink.write(Buffer.from('first'));
        let [becameWritable, left]: (() => void)[] = [];
        const writable = new Promise<void>((resolve) => {
          becameWritable = resolve;
        });
        const gone = new Promise<void>((resolve) => {
          left = resolve;
        });
        attach({ writable: () => becameWritable?.(), gone: () => left?.() });
        opened({ sink, writable, gone });
      },
      onFault: (_exchange, error) => assert.fail(String(error)),
    },
    new ManualClock(),
    {
      limits: { connections: 100, spare: 0, loopback: 0, perAddress: 100 },
      onFull: () => assert.fail('too many connections'),
    },
  );
  const listening = server.open('127.0.0.1', 0);
  assert.ok(listening);
  const client = new RawConnection(listening.port).write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
  context.after(async () => {
    client.destroy();
    await server.close(0);
  });
  await client.until((text) => text.includes('first'));
  return { client, ...(await scene) };
}

test('a chunk that the socket cannot take at once arrives whole, and then writing continues', async (context) => {
  const { client, sink, writable } = await openScene(context);
  client.pause();
  let pieces = 0;
  let isTaken = true;
  while (isTaken && pieces < PIECES_MAX) {
    sink.cork(() => {
      isTaken = sink.write(PIECE);
    });
    pieces += 1;
  }
  assert.equal(isTaken, false);
  client.resume();
  await client.until((text) => text.length > pieces * PIECE.length);
  await writable;
  sink.cork(() => sink.write(Buffer.from('last')));
  await client.until((text) => text.includes('last'));
});

test('a line break in a header value begins no other header', async (context) => {
  const { client } = await openScene(context);
  assert.match(client.received, /\r\nContent-Type: text\/event-stream X-Evil: 1\r\n/);
});

test('a response whose peer has gone ignores further writes', async (context) => {
  const { client, sink, gone } = await openScene(context);
  client.destroy();
  await gone;
  assert.equal(sink.write(PIECE), false);
  sink.cork(() => assert.fail('corked without a connection'));
  sink.end();
  sink.cut();
});

test('a cut connection is closed without an end of the response', async (context) => {
  const { client, sink } = await openScene(context);
  sink.cut();
  assert.doesNotMatch(await client.closed(), /\r\n0\r\n\r\n$/);
  sink.end();
});

test('a stream that is ended is complete, and ignores further writes', async (context) => {
  const { client, sink } = await openScene(context);
  sink.end();
  assert.equal(sink.write(PIECE), false);
  await client.until((text) => text.endsWith('\r\n0\r\n\r\n'));
});
