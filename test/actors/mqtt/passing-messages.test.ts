// Tests which of the messages that wait for the broker are dropped.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type PassingMessage, PassingMessages } from '../../../src/actors/mqtt/passing-messages.js';

const acceptsAll = (): boolean => true;

/** The messages that are left when all of these wait, oldest first. */
function leftOf(messages: readonly PassingMessage[]): readonly PassingMessage[] {
  const passing = new PassingMessages();
  for (const message of messages) passing.add(message);
  const left: PassingMessage[] = [];
  for (;;) {
    const message = passing.takeNext(acceptsAll);
    if (message === undefined) return left;
    left.push(message);
  }
}

const numbered = (index: number): PassingMessage => ({ topic: 'T/error', text: `${index}` });

test('the oldest messages are dropped if more than 256 wait', () => {
  const messages = Array.from({ length: 300 }, (_, index) => numbered(index));
  assert.deepEqual(leftOf(messages), messages.slice(300 - 256));
});

test('the oldest messages are dropped if the messages that wait are too large together, by topics, texts or correlation data', () => {
  const long = 'x'.repeat(60_000);
  const longMessages: readonly PassingMessage[] = [
    { topic: long, text: '' },
    { topic: 'T/error', text: long },
    { topic: 'answers', text: '', correlation: Buffer.alloc(60_000) },
  ];
  for (const message of longMessages) {
    const oldest = numbered(0);
    const left = leftOf([oldest, ...Array.from({ length: 100 }, () => message)]);
    // The bound is 1 Mi, which is a little more than 17 times 60 000.
    assert.equal(left.length, 17);
    assert.ok(!left.includes(oldest));
  }
});

test('after messages were dropped or sent, as many may wait as before', () => {
  const passing = new PassingMessages();
  // The bound is 1 Mi, so two of these messages may wait, and eight of the ten are dropped.
  const message = { topic: 'T/error', text: 'x'.repeat(500_000) };
  for (let count = 0; count < 10; count += 1) passing.add(message);
  assert.deepEqual(passing.takeNext(acceptsAll), message);
  passing.add(message);
  for (const expected of [message, message]) assert.deepEqual(passing.takeNext(acceptsAll), expected);
  assert.equal(passing.takeNext(acceptsAll), undefined);
});
