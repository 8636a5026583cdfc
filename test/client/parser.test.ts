// The client's parser follows the HTML standard (9.2.5 and 9.2.6), however a stream is cut.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EventParser } from '../../src/client/parser.js';
import { parsedByConsumer as parsed } from '../consumer/parser.js';
import { SEED, SeededRandom } from '../seeded-random.js';

const ROUNDS = 300;

/** An event of the default type. */
const message = (data: string, id = ''): readonly string[] => ['message', data, id];

type Row = readonly [string, stream: string | Uint8Array, events: readonly (readonly string[])[]];
/** Streams, and the events that a browser makes of each: type, data and id. */
const ROWS: readonly Row[] = [
  ['a block is dispatched at its blank line', 'data: x\n\n', [message('x')]],
  ['a block without blank line is discarded', 'data: x\n', []],
  ['a line without end is discarded', 'data: x\n\ndata: y', [message('x')]],
  ['data lines are joined by LF', 'data: YHOO\ndata: +2\ndata: 10\n\n', [message('YHOO\n+2\n10')]],
  [
    'standard, example 2',
    ': test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event\n\n',
    [message('first event', '1'), message('second event'), message(' third event')],
  ],
  ['standard, example 3', 'data\n\ndata\ndata\n\ndata:', [message(''), message('\n')]],
  ['standard, example 4', 'data:test\n\ndata: test\n\n', [message('test'), message('test')]],
  ['the type is the event field', 'event: add\ndata: 1\n\n', [['add', '1', '']]],
  ['the last event field wins', 'event: a\nevent: b\ndata: 1\n\n', [['b', '1', '']]],
  ['the type does not outlive its block', 'event: a\n\ndata: 1\n\n', [message('1')]],
  ['a block without data dispatches nothing', 'event: a\nid: 4\n\n', []],
  ['an id without data is kept', 'id: 4\n\ndata: 1\n\n', [message('1', '4')]],
  ['an id holds for later blocks', 'id: 4\ndata: 1\n\ndata: 2\n\n', [message('1', '4'), message('2', '4')]],
  ['an id may have no NUL', 'id: 4\ndata: 1\n\nid: 5\0\ndata: 2\n\n', [message('1', '4'), message('2', '4')]],
  ['an empty id resets', 'id: 4\ndata: 1\n\nid\ndata: 2\n\n', [message('1', '4'), message('2')]],
  ['comments are skipped', ':\n: x\n:data: 0\ndata: 1\n\n', [message('1')]],
  ['unknown fields are skipped', 'foo: 1\ndata: 1\nDATA: 2\n data: 3\n\n', [message('1')]],
  ['only one space is stripped', 'data:  a\n\n', [message(' a')]],
  ['CR ends a line', 'data: a\rdata: b\r\r', [message('a\nb')]],
  ['CRLF ends one line', 'data: a\r\ndata: b\r\n\r\n', [message('a\nb')]],
  ['CR, CRLF and LF mix', 'data: a\rdata: b\r\ndata: c\n\r\n', [message('a\nb\nc')]],
  ['one byte order mark is stripped', '\ufeffdata: a\n\n', [message('a')]],
  ['a second one is part of a field name', '\ufeff\ufeffdata: a\n\n', []],
  ['one within data is data', 'data: \ufeffa\n\n', [message('\ufeffa')]],
  ['U+2028 and NEL end no line', 'data: a\u2028b\u0085c\n\n', [message('a\u2028b\u0085c')]],
  ['NUL in data is data', 'data: a\0b\n\n', [message('a\0b')]],
  ['text is UTF-8', 'data: ☕é🎵\n\n', [message('☕é🎵')]],
  ['ill-formed bytes are replaced', Buffer.from('646174613aff0a0a', 'hex'), [message('\ufffd')]],
];

/** Streams, and the time that a browser waits afterwards before it reconnects. */
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

function* cut(bytes: Uint8Array, size: number): Generator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

for (const [name, stream, events] of ROWS) {
  test(name, () => {
    const bytes = Buffer.from(stream);
    const expected = events.map(([type, data, lastEventId]) => ({ type, data, lastEventId }));
    for (const size of [bytes.length, 1, 2, Math.ceil(bytes.length / 2)])
      assert.deepEqual(parsed([...cut(bytes, size)], '').events, expected, `in pieces of ${size}`);
  });
}

for (const [stream, retryMs] of RETRIES) {
  test(`retry is taken from ${JSON.stringify(stream)} only if it is digits`, () =>
    assert.equal(parsed([Buffer.from(stream)], '').retryMs, retryMs));
}

test('the id to reconnect with is that of the last complete block, else the one from before', () => {
  assert.equal(parsed([], 'a').lastEventId, 'a');
  assert.equal(parsed([Buffer.from('id: b\ndata: 1\n\nid: c\ndata: 2\n')], 'a').lastEventId, 'b');
});

test('an event without end is refused', () => {
  const parser = new EventParser('');
  const line = `data: ${'x'.repeat(1024 * 1024)}`;
  assert.throws(() => {
    for (let lines = 0; lines < 10; lines += 1)
      for (const _ of parser.feed(`${line}\n`)) assert.fail('an event');
  }, RangeError);
});

test(`any stream gives the same events whole and cut (TONEARM_FUZZ_SEED=${SEED})`, () => {
  const random = new SeededRandom(SEED);
  const PARTS = 'data|event|id|retry|:|: | |x|ü☕|7|\0|\n|\n\n|\r|\r\n|\ufeff'.split('|');
  for (let round = 0; round < ROUNDS; round += 1) {
    const parts = Array.from({ length: random.below(60) }, () => PARTS[random.below(PARTS.length)]);
    const bytes = Buffer.from(parts.join(''));
    const pieces = [...cut(bytes, 1 + random.below(5))];
    assert.deepEqual(parsed(pieces, 'before'), parsed([bytes], 'before'), JSON.stringify(`${bytes}`));
  }
});
