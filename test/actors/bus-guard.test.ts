// The guard's patience: a message that begins and does not end.

import assert from 'node:assert/strict';
import { Socket } from 'node:net';
import { test } from 'node:test';
import { guardStream } from '../../src/actors/bus-guard.js';
import { reply, text } from './bus-script.js';

/** A socket without a peer, read the way dbus-next reads it. */
function readSocket(): { feed: (bytes: Buffer) => void; verdicts: string[]; socket: Socket } {
  const socket = new Socket();
  const verdicts: string[] = [];
  guardStream(socket, {
    refuse: (reason) => verdicts.push(`refused: ${reason}`),
    dropped: (reason) => verdicts.push(`dropped: ${reason}`),
  });
  let rest = 0;
  const feed = (bytes: Buffer): void => {
    socket.push(bytes);
    const chunk: Buffer | null = socket.read(rest === 0 ? 16 : rest);
    if (chunk !== null)
      rest = rest === 0 ? Math.ceil(chunk.readUInt32LE(12) / 8) * 8 + chunk.readUInt32LE(4) : 0;
    if (rest > 0 && socket.read(rest) !== null) rest = 0;
  };
  return { feed, verdicts, socket };
}

test('a message that does not end is refused after 10 s, and one that ends is not', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const { feed, verdicts, socket } = readSocket();
  const message = reply(1, 's', text('hello'));
  feed(message.subarray(0, 30));
  t.mock.timers.tick(9_000);
  feed(message.subarray(30));
  t.mock.timers.tick(20_000);
  assert.deepEqual(verdicts, []);
  feed(message.subarray(0, 30));
  t.mock.timers.tick(10_000);
  assert.deepEqual(verdicts, ['refused: a message that does not end']);
  socket.destroy();
});

test('whatever a listener throws is a verdict', () => {
  const { verdicts, socket } = readSocket();
  socket.on('readable', () => {
    throw new Error('a bug');
  });
  socket.emit('readable');
  assert.deepEqual(verdicts, ['dropped: a bug']);
  socket.destroy();
});

test('what lies behind a message that made a listener throw is read, though nothing more arrives', async () => {
  const { verdicts, socket } = readSocket();
  const read: unknown[] = [];
  let rounds = 0;
  const done = new Promise<void>((resolve) => {
    socket.on('readable', () => {
      rounds += 1;
      read.push(socket.read(1));
      if (rounds === 1) throw new Error('a bug');
      resolve();
    });
  });
  socket.push(Buffer.from('ab'));
  await done;
  assert.deepEqual([verdicts, read.map(String)], [['dropped: a bug'], ['a', 'b']]);
  socket.destroy();
});
