// The client's parser reads streams as the standard says, and as the tests' own consumer does, however they are cut.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EventParser } from '../../src/client/parser.js';
import { type DispatchedEvent, EventStreamParser } from '../consumer/parser.js';
import { RETRIES, ROWS } from '../consumer/standard-streams.js';
import { SEED, SeededRandom } from '../seeded-random.js';

const ROUNDS = 300;

/** As stream.ts feeds it. */
function parsed(
  pieces: readonly Uint8Array[],
  lastEventId = '',
): { events: DispatchedEvent[]; parser: EventParser } {
  const parser = new EventParser(lastEventId);
  const decoder = new TextDecoder();
  const events: DispatchedEvent[] = [];
  for (const piece of pieces) {
    for (const event of parser.feed(decoder.decode(piece, { stream: true }))) {
      events.push({ ...event, lastEventId: parser.lastEventId });
    }
  }
  return { events, parser };
}

function cut(bytes: Uint8Array, size: number): Uint8Array[] {
  return Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) =>
    bytes.subarray(at * size, (at + 1) * size),
  );
}

for (const [name, stream, events] of ROWS) {
  test(name, () => {
    const bytes = typeof stream === 'string' ? Buffer.from(stream) : stream;
    const expected = events.map(([type, data, lastEventId]) => ({ type, data, lastEventId }));
    for (const size of [bytes.length, 1, 2, Math.ceil(bytes.length / 2)]) {
      assert.deepEqual(parsed(cut(bytes, size)).events, expected, `in pieces of ${size}`);
    }
  });
}

for (const [stream, retryMs] of RETRIES) {
  test(`retry is taken from ${JSON.stringify(stream)} only if it is digits`, () => {
    assert.equal(parsed([Buffer.from(stream)]).parser.retryMs, retryMs);
  });
}

test('the id to come back with is that of the last complete block, else the one from before', () => {
  assert.equal(parsed([], 'a').parser.lastEventId, 'a');
  assert.equal(parsed([Buffer.from('id: b\ndata: 1\n\nid: c\ndata: 2\n')], 'a').parser.lastEventId, 'b');
});

test('an event without end is refused', () => {
  const parser = new EventParser('');
  const line = `data: ${'x'.repeat(1024 * 1024)}`;
  assert.throws(() => {
    for (let lines = 0; lines < 10; lines += 1)
      for (const _ of parser.feed(`${line}\n`)) assert.fail('an event');
  }, RangeError);
});

test(`it agrees with the consumer on any stream (TONEARM_FUZZ_SEED=${SEED})`, () => {
  const random = new SeededRandom(SEED);
  const PARTS = [
    'data',
    'event',
    'id',
    'retry',
    ':',
    ': ',
    ' ',
    'x',
    'ü☕',
    '7',
    '\0',
    '\n',
    '\n\n',
    '\r',
    '\r\n',
    '\ufeff',
  ] as const;
  for (let round = 0; round < ROUNDS; round += 1) {
    const text = Array.from({ length: random.below(60) }, () => random.pick([...PARTS])).join('');
    const bytes = Buffer.from(text);
    const seen: DispatchedEvent[] = [];
    const consumer = new EventStreamParser((event) => seen.push(event), 'before');
    consumer.feed(bytes);
    const { events, parser } = parsed(cut(bytes, 1 + random.below(5)), 'before');
    assert.deepEqual(events, seen, JSON.stringify(text));
    assert.deepEqual(
      [parser.lastEventId, parser.retryMs],
      [consumer.lastEventId, consumer.retryMs],
      JSON.stringify(text),
    );
  }
});
