// The client's parser and the tests' own consumer must both follow the standard, however a stream is cut.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EventParser } from '../../src/client/parser.js';
import { type DispatchedEvent, type Parse, parsedByConsumer } from '../consumer/parser.js';
import { cut, keepsTheStandard } from '../consumer/standard-streams.js';
import { SEED, SeededRandom } from '../seeded-random.js';

const ROUNDS = 300;

/** Calls the parser the same way stream.ts does. */
const parsed: Parse = (pieces, before) => {
  const parser = new EventParser(before);
  const decoder = new TextDecoder();
  const events: DispatchedEvent[] = [];
  for (const piece of pieces) {
    for (const event of parser.feed(decoder.decode(piece, { stream: true }))) {
      events.push({ ...event, lastEventId: parser.lastEventId });
    }
  }
  return { events, retryMs: parser.retryMs, lastEventId: parser.lastEventId };
};

keepsTheStandard(parsed);

test('an event without end is refused', () => {
  const parser = new EventParser('');
  const line = `data: ${'x'.repeat(1024 * 1024)}`;
  assert.throws(() => {
    for (let lines = 0; lines < 10; lines += 1)
      for (const _ of parser.feed(`${line}\n`)) assert.fail('an event');
  }, RangeError);
});

test(`the client's parser agrees with the consumer's on any stream (TONEARM_FUZZ_SEED=${SEED})`, () => {
  const random = new SeededRandom(SEED);
  const PARTS = 'data|event|id|retry|:|: | |x|ü☕|7|\0|\n|\n\n|\r|\r\n|\ufeff'.split('|');
  for (let round = 0; round < ROUNDS; round += 1) {
    const parts = Array.from({ length: random.below(60) }, () => PARTS[random.below(PARTS.length)]);
    const bytes = Buffer.from(parts.join(''));
    const expected = parsedByConsumer([bytes], 'before');
    assert.deepEqual(parsed(cut(bytes, 1 + random.below(5)), 'before'), expected, JSON.stringify(`${bytes}`));
  }
});
