// Tests which messages are dropped while they wait for the broker. These messages are events and refusals.
// The broker does not retain them.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type PassingMessage, PassingMessages } from '../../../src/actors/mqtt/passing-messages.js';

const acceptsAll = (): boolean => true;

/** Adds these messages in their order. Returns those that were not dropped, oldest first. */
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

test('the oldest messages are dropped if the topics, texts or correlation data of all waiting messages are too long together', () => {
  const long = 'x'.repeat(60_000);
  const longMessages: readonly PassingMessage[] = [
    { topic: long, text: '' },
    { topic: 'T/error', text: long },
    { topic: 'answers', text: '', correlation: Buffer.alloc(60_000) },
  ];
  for (const message of longMessages) {
    const oldest = numbered(0);
    const left = leftOf([oldest, ...Array.from({ length: 100 }, () => message)]);
    // The bound is 1 Mi characters or bytes, which is a little more than 17 times 60 000.
    assert.equal(left.length, 17);
    assert.ok(!left.includes(oldest));
  }
});

test('after messages were dropped or sent, as many may wait as before', () => {
  const passing = new PassingMessages();
  // The bound is 1 Mi characters, so two of these messages may wait, and eight of the ten are dropped.
  const message = { topic: 'T/error', text: 'x'.repeat(500_000) };
  for (let count = 0; count < 10; count += 1) passing.add(message);
  assert.deepEqual(passing.takeNext(acceptsAll), message);
  passing.add(message);
  for (const expected of [message, message]) assert.deepEqual(passing.takeNext(acceptsAll), expected);
  assert.equal(passing.takeNext(acceptsAll), undefined);
});
