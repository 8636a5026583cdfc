// Tests what the stream learns of a connection whose client reads slowly. The response is a fake, because a
// real one accepts parts of a write at times that a test cannot choose.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ResponseStream } from '../../src/gateway/response-stream.js';

test('a stream learns when a part of its bytes is accepted, and may write when all are accepted', () => {
  // `isAccepting` is the result of each write: true if the connection has accepted all bytes. At each
  // `signalWritable` the stream writes a comment, because only a write has such a result (`COMMENT` in
  // response-stream.ts).
  let isAccepting = false;
  let signalWritable = (): boolean => false;
  const response = {
    cork: (write: () => void) => write(),
    write: () => isAccepting,
    end: () => undefined,
    onWritable: (handler: () => boolean) => {
      signalWritable = handler;
    },
  };
  const exchange = { begin: () => undefined, onEnded: () => undefined, cut: () => undefined };
  const calls: string[] = [];
  const stream = new ResponseStream(response, exchange);
  assert.equal(stream.write('data: 1'), false);
  stream.attach({
    onProgress: () => calls.push('progress'),
    onWritable: () => calls.push('writable'),
    onGone: () => calls.push('gone'),
  });

  signalWritable();
  assert.deepEqual(calls, ['progress']);
  isAccepting = true;
  signalWritable();
  assert.deepEqual(calls, ['progress', 'writable']);
});
