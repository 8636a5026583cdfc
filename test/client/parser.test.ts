// Tests that the client's parser follows the HTML standard (9.2.5 and 9.2.6), even if a stream comes in
// pieces. Most tests use this parser through consumer/parser.ts, which decodes bytes as client/stream.ts
// does.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EventParser } from '../../src/client/parser.js';
import { type DispatchedEvent, parsedByConsumer as parse } from '../consumer/parser.js';
import { SEED, SeededRandom } from '../seeded-random.js';

const ROUNDS = 300;

/** An event of the default type. */
const message = (data: string, lastEventId = ''): DispatchedEvent => ({ type: 'message', data, lastEventId });

type Row = readonly [title: string, stream: string | Uint8Array, events: readonly DispatchedEvent[]];
/** Streams, and the events that a browser makes of each. A block is a group of lines up to a blank line. */
const ROWS: readonly Row[] = [
  ['a block is dispatched at its blank line', 'data: x\n\n', [message('x')]],
  ['a block without blank line is discarded', 'data: x\n', []],
  ['a line without end is discarded', 'data: x\n\ndata: y', [message('x')]],
  ['data lines are joined by LF', 'data: YHOO\ndata: +2\ndata: 10\n\n', [message('YHOO\n+2\n10')]],
  [
    'example 2 of the standard gives the events of the standard',
    ': test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event\n\n',
    [message('first event', '1'), message('second event'), message(' third event')],
  ],
  [
    'example 3 of the standard gives the events of the standard',
    'data\n\ndata\ndata\n\ndata:',
    [message(''), message('\n')],
  ],
  [
    'example 4 of the standard gives the events of the standard',
    'data:test\n\ndata: test\n\n',
    [message('test'), message('test')],
  ],
  ['the event field sets the type', 'event: add\ndata: 1\n\n', [{ ...message('1'), type: 'add' }]],
  [
    'the last of two event fields sets the type',
    'event: a\nevent: b\ndata: 1\n\n',
    [{ ...message('1'), type: 'b' }],
  ],
  ['the type of a block does not count for the next block', 'event: a\n\ndata: 1\n\n', [message('1')]],
  ['a block without data dispatches nothing', 'event: a\nid: 4\n\n', []],
  ['an id in a block without data counts for the next block', 'id: 4\n\ndata: 1\n\n', [message('1', '4')]],
  ['an id counts for later blocks', 'id: 4\ndata: 1\n\ndata: 2\n\n', [message('1', '4'), message('2', '4')]],
  [
    'an id with a NUL is ignored',
    'id: 4\ndata: 1\n\nid: 5\0\ndata: 2\n\n',
    [message('1', '4'), message('2', '4')],
  ],
  [
    'an empty id removes the id of earlier blocks',
    'id: 4\ndata: 1\n\nid\ndata: 2\n\n',
    [message('1', '4'), message('2')],
  ],
  ['comments are skipped', ':\n: x\n:data: 0\ndata: 1\n\n', [message('1')]],
  ['unknown fields are skipped', 'foo: 1\ndata: 1\nDATA: 2\n data: 3\n\n', [message('1')]],
  ['only one space after the colon is removed', 'data:  a\n\n', [message(' a')]],
  ['CR ends a line', 'data: a\rdata: b\r\r', [message('a\nb')]],
  ['CRLF ends one line', 'data: a\r\ndata: b\r\n\r\n', [message('a\nb')]],
  ['a stream may mix CR, CRLF and LF', 'data: a\rdata: b\r\ndata: c\n\r\n', [message('a\nb\nc')]],
  ['a byte order mark at the beginning is removed', '\ufeffdata: a\n\n', [message('a')]],
  ['a second byte order mark is part of a field name', '\ufeff\ufeffdata: a\n\n', []],
  ['a byte order mark within data is data', 'data: \ufeffa\n\n', [message('\ufeffa')]],
  ['U+2028 and NEL end no line', 'data: a\u2028b\u0085c\n\n', [message('a\u2028b\u0085c')]],
  ['NUL in data is data', 'data: a\0b\n\n', [message('a\0b')]],
  ['text is UTF-8', 'data: ☕é🎵\n\n', [message('☕é🎵')]],
  // These bytes are `data:`, the byte FF, and two line ends.
  ['a byte that is no UTF-8 becomes U+FFFD', Buffer.from('646174613aff0a0a', 'hex'), [message('\ufffd')]],
];

/**
 * Streams, and the time that a browser waits after each stream before it reconnects. The time is undefined if
 * the stream does not set it. A `retry` line counts only if the line has ended and its value consists of
 * digits. One space after the colon does not belong to the value.
 */
const RETRIES: readonly [stream: string, retryMs: number | undefined][] = [
  ['retry: 2500\n', 2500],
  ['retry:2500\n', 2500],
  ['retry: 2500', undefined],
  ['retry: 25x\n', undefined],
  ['retry: -1\n', undefined],
  ['retry:  1\n', undefined],
  ['retry:\n', undefined],
  ['retry: 1\nretry: x\n', 1],
];

function* piecesOf(bytes: Uint8Array, size: number): Generator<Uint8Array> {
  for (let start = 0; start < bytes.length; start += size) yield bytes.subarray(start, start + size);
}

for (const [title, stream, events] of ROWS) {
  test(title, () => {
    const bytes = Buffer.from(stream);
    for (const size of [bytes.length, 1, 2, Math.ceil(bytes.length / 2)])
      assert.deepEqual(parse([...piecesOf(bytes, size)], '').events, events, `in pieces of ${size} bytes`);
  });
}

for (const [stream, retryMs] of RETRIES) {
  test(`after ${JSON.stringify(stream)} the pause before a reconnection is ${retryMs ?? 'not set'}`, () =>
    assert.equal(parse([Buffer.from(stream)], '').retryMs, retryMs));
}

test('a reconnection sends the id of the last complete block, or, without such a block, the id with which the connection was opened', () => {
  assert.equal(parse([], 'a').lastEventId, 'a');
  assert.equal(parse([Buffer.from('id: b\ndata: 1\n\nid: c\ndata: 2\n')], 'a').lastEventId, 'b');
});

test('an event that does not end is refused', () => {
  const parser = new EventParser('');
  const longLine = `data: ${'x'.repeat(1024 * 1024)}`;
  // Ten of these lines are longer than an event may be (`EVENT_LENGTH_MAX` in client/parser.ts).
  assert.throws(() => {
    for (let lines = 0; lines < 10; lines += 1)
      for (const _ of parser.feed(`${longLine}\n`)) assert.fail('an event came');
  }, RangeError);
});

test(`any stream gives the same events as a whole and in pieces (TONEARM_FUZZ_SEED=${SEED})`, () => {
  const random = new SeededRandom(SEED);
  const PARTS = 'data|event|id|retry|:|: | |x|ü☕|7|\0|\n|\n\n|\r|\r\n|\ufeff'.split('|');
  for (let round = 0; round < ROUNDS; round += 1) {
    const parts = Array.from({ length: random.below(60) }, () => PARTS[random.below(PARTS.length)]);
    const bytes = Buffer.from(parts.join(''));
    const pieces = [...piecesOf(bytes, 1 + random.below(5))];
    assert.deepEqual(parse(pieces, 'before'), parse([bytes], 'before'), JSON.stringify(`${bytes}`));
  }
});
