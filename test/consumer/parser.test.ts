// The consumer of the tests must itself be right: rows from the HTML standard, each whole, byte by byte and in halves.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type DispatchedEvent, EventStreamParser } from './parser.js';
import { RETRIES, ROWS } from './standard-streams.js';

for (const [name, stream, events] of ROWS) {
  test(name, () => {
    const bytes = typeof stream === 'string' ? Buffer.from(stream) : stream;
    const expected = events.map(([type, data, lastEventId]) => ({ type, data, lastEventId }));
    for (const size of [bytes.length, 1, 2, Math.ceil(bytes.length / 2)]) {
      const seen: DispatchedEvent[] = [];
      const parser = new EventStreamParser((event) => seen.push(event));
      for (let at = 0; at < bytes.length; at += size) parser.feed(bytes.subarray(at, at + size));
      assert.deepEqual(seen, expected, `in pieces of ${size}`);
    }
  });
}

for (const [stream, retryMs] of RETRIES) {
  test(`retry is taken from ${JSON.stringify(stream)} only if it is digits`, () => {
    const parser = new EventStreamParser(() => undefined);
    parser.feed(Buffer.from(stream));
    assert.equal(parser.retryMs, retryMs);
  });
}

test('the id to resume from is that of the last complete block', () => {
  const parser = new EventStreamParser(() => undefined, 'a');
  assert.equal(parser.lastEventId, 'a');
  parser.feed(Buffer.from('id: b\ndata: 1\n\nid: c\ndata: 2\n'));
  assert.equal(parser.lastEventId, 'b');
});
