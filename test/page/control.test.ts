// A control between a user and the node: never an echo of an older value, one request at a time, always the last value.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { advance, type Control, type ControlInput, controlOf, shownValue } from '../../src/page/control.js';
import { SEED, SeededRandom } from '../seeded-random.js';

const same = (a: number, b: number): boolean => Math.abs(a - b) < 0.006;

type Input = ControlInput<number>;
const known = (value: number): Input => ({ kind: 'known', value });
const set = (value: number): Input => ({ kind: 'set', value });
const settled = (turn: number): Input => ({ kind: 'settled', turn });
const hold: Input = { kind: 'hold' };
const release: Input = { kind: 'release' };
const accepted: Input = { kind: 'accepted' };
const refused: Input = { kind: 'refused' };

/** The values shown after each input, the values sent, and the waits requested. */
function run(inputs: readonly Input[], from = 0.5) {
  let control: Control<number> = controlOf(from);
  const shown: number[] = [];
  const sent: number[] = [];
  const settles: number[] = [];
  for (const input of inputs) {
    const next = advance(control, input, same);
    control = next.control;
    shown.push(shownValue(control));
    if (next.send !== undefined) sent.push(next.send.value);
    if (next.settle !== undefined) settles.push(next.settle);
  }
  return { control, shown, sent, settles };
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
    [hold, known(0.9), release, settled(0)],
    [0.5, 0.5, 0.5, 0.9],
    [],
  ],
  [
    'what another has set wins in the end',
    [set(0.6), known(0.6), known(0.2), accepted, settled(1)],
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
    'a wait for an older value ends nothing',
    [set(0.6), accepted, set(0.7), settled(1)],
    [0.6, 0.6, 0.7, 0.7],
    [0.6, 0.7],
  ],
];

describe('a control', () => {
  for (const [what, inputs, shown, sent] of ROWS) {
    test(what, () => {
      const seen = run(inputs);
      assert.deepEqual(seen.shown, shown);
      assert.deepEqual(seen.sent, sent);
    });
  }

  test('waits longer for the node where no event may follow', () => {
    assert.deepEqual(run([set(0.6), accepted]).settles, [1]);
    assert.deepEqual(run([set(0.6), known(0.6), accepted]).settles, []);
  });

  test('ends at the state of the node, whatever comes in between, with one request at a time and the last value sent', () => {
    const random = new SeededRandom(SEED);
    for (let round = 0; round < 500; round += 1) {
      const hand = new Hand();
      for (let count = random.below(30); count > 0; count -= 1) {
        const value = random.below(101) / 100;
        random.pick([
          () => hand.take(hold),
          () => hand.take(release),
          () => hand.tell(value),
          () => hand.answer(),
          () => hand.set(value),
        ])();
      }
      hand.take(release);
      while (hand.control.sent !== undefined) hand.answer();
      hand.take(settled(hand.control.turn));
      assert.equal(shownValue(hand.control), hand.truth);
      if (hand.lastSet !== undefined) assert.ok(same(hand.lastSent ?? -1, hand.lastSet));
    }
  });
});

/** A user at a control, and a node that accepts values, publishes them, and answers. */
class Hand {
  control: Control<number> = controlOf(0);
  truth = 0;
  lastSet: number | undefined;
  lastSent: number | undefined;

  take(input: Input): void {
    const { sent } = this.control;
    const next = advance(this.control, input, same);
    this.control = next.control;
    if (next.send === undefined) return;
    assert.ok(sent === undefined || input.kind === 'accepted', 'one request at a time');
    this.lastSent = next.send.value;
  }

  set(value: number): void {
    this.lastSet = value;
    this.take(set(value));
  }

  tell(value: number): void {
    this.truth = value;
    this.take(known(value));
  }

  answer(): void {
    if (this.control.sent === undefined) return;
    this.tell(this.control.sent.value);
    this.take(accepted);
  }
}
