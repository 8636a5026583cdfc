// A control between a user and the node: never an echo of an older value, one request at a time, always the last value.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { advance, type Control } from '../../src/page/control.js';
import { SEED, SeededRandom } from '../seeded-random.js';

const same = (a: number, b: number): boolean => Math.abs(a - b) < 0.006;

type Input = Parameters<typeof advance<number>>[1];
const known = (value: number): Input => ({ kind: 'known', value });
const set = (value: number): Input => ({ kind: 'set', value });
const [hold, release, accepted, refused, settled] = (
  ['hold', 'release', 'accepted', 'refused', 'settled'] as const
).map((kind): Input => ({ kind })) as [Input, Input, Input, Input, Input];

/** A control of a user, and a node that accepts values, publishes them, and answers. */
class Hand {
  control: Control<number>;
  readonly shown: number[] = [];
  readonly sent: number[] = [];

  constructor(from: number) {
    this.control = { known: from };
  }

  take(input: Input): void {
    const { sent } = this.control;
    this.control = advance(this.control, input, same);
    this.shown.push(this.control.wanted ?? this.control.known);
    const { sent: next } = this.control;
    if (next === undefined || next === sent) return;
    assert.ok(sent === undefined || ['accepted', 'refused'].includes(input.kind), 'one request at a time');
    this.sent.push(next);
  }

  answer(): void {
    if (this.control.sent === undefined) return;
    this.take(known(this.control.sent));
    this.take(accepted);
  }
}

const ROWS: readonly (readonly [
  what: string,
  inputs: readonly Input[],
  shown: readonly number[],
  sent: readonly number[],
])[] = [
  ['what the node sends is shown', [known(0.7)], [0.7], []],
  ['what is set is shown and sent at once', [set(0.6)], [0.6], [0.6]],
  [
    'while a request is under way others wait, and of them the last is sent',
    [set(0.6), set(0.61), set(0.62), accepted, accepted],
    [0.6, 0.61, 0.62, 0.62, 0.62],
    [0.6, 0.62],
  ],
  [
    'an echo of what the finger has left behind is not shown',
    [hold, set(0.6), set(0.7), accepted, known(0.6), accepted, known(0.7), release],
    [0.5, 0.6, 0.7, 0.7, 0.7, 0.7, 0.7, 0.7],
    [0.6, 0.7],
  ],
  [
    'an echo that the node has rounded is the value',
    [set(0.604), accepted, known(0.6), known(0.9)],
    [0.604, 0.604, 0.6, 0.9],
    [0.604],
  ],
  [
    'an echo may come before the answer',
    [set(0.6), known(0.6), accepted, known(0.9)],
    [0.6, 0.6, 0.6, 0.9],
    [0.6],
  ],
  [
    'a finger that rests on it holds it, and what came meanwhile is shown behind its wait',
    [hold, known(0.9), release, settled],
    [0.5, 0.5, 0.5, 0.9],
    [],
  ],
  [
    'what another has set wins in the end',
    [set(0.6), known(0.6), known(0.2), accepted, settled],
    [0.6, 0.6, 0.6, 0.6, 0.2],
    [0.6],
  ],
  ['a refused value is taken back', [set(0.6), refused], [0.6, 0.5], [0.6]],
  [
    'behind a refused value the last one is still tried',
    [set(0.6), set(0.7), refused, accepted],
    [0.6, 0.7, 0.7, 0.7],
    [0.6, 0.7],
  ],
  [
    'a wait ends nothing after an echo',
    [set(0.6), known(0.6), accepted, known(0.5), settled],
    [0.6, 0.6, 0.6, 0.5, 0.5],
    [0.6],
  ],
  ['no wait ends while a request is open', [set(0.6), settled], [0.6, 0.6], [0.6]],
];

describe('a control', () => {
  for (const [what, inputs, shown, sent] of ROWS) {
    test(what, () => {
      const hand = new Hand(0.5);
      for (const input of inputs) hand.take(input);
      assert.deepEqual([hand.shown, hand.sent], [shown, sent]);
    });
  }

  test('ends at the state of the node, whatever comes in between, with one request at a time and the last value sent', () => {
    const random = new SeededRandom(SEED);
    for (let round = 0; round < 500; round += 1) {
      const hand = new Hand(0);
      let lastSet: number | undefined;
      for (let count = random.below(30); count > 0; count -= 1) {
        const value = random.below(101) / 100;
        random.pick([
          () => hand.take(hold),
          () => hand.take(release),
          () => hand.take(known(value)),
          () => hand.answer(),
          () => {
            lastSet = value;
            hand.take(set(value));
          },
        ])();
      }
      hand.take(release);
      while (hand.control.sent !== undefined) hand.answer();
      hand.take(settled);
      assert.equal(hand.shown.at(-1), hand.control.known);
      if (lastSet !== undefined) assert.ok(same(hand.sent.at(-1) ?? -1, lastSet));
    }
  });
});
