// A control between a user and the node: never an echo of an older value, one request at a time, always the
// last value.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { advance, type Control } from '../../src/page/control.js';

const same = (a: number, b: number): boolean => Math.abs(a - b) < 0.006;

type Input = Parameters<typeof advance<number>>[1];
const known = (value: number): Input => ({ kind: 'known', value });
const set = (value: number): Input => ({ kind: 'set', value });
const [grab, release, accepted, refused, settled] = (
  ['grab', 'release', 'accepted', 'refused', 'settled'] as const
).map((kind): Input => ({ kind })) as [Input, Input, Input, Input, Input];

/** A control under a user's hand. */
class Hand {
  control: Control<number> = { known: 0.5 };
  readonly displayed: number[] = [];
  readonly sent: number[] = [];

  take(input: Input): void {
    const { sent } = this.control;
    this.control = advance(this.control, input, same);
    this.displayed.push(this.control.desired ?? this.control.known);
    const { sent: next } = this.control;
    if (next === undefined || next === sent) return;
    assert.ok(sent === undefined || ['accepted', 'refused'].includes(input.kind), 'one request at a time');
    this.sent.push(next);
  }
}

type Row = readonly [what: string, inputs: readonly Input[], displayed: number[], sent: number[]];
const ROWS: readonly Row[] = [
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
    [grab, set(0.6), set(0.7), accepted, known(0.6), accepted, known(0.7), release],
    [0.5, 0.6, 0.7, 0.7, 0.7, 0.7, 0.7, 0.7],
    [0.6, 0.7],
  ],
  [
    'an echo that the node has rounded is the value',
    [set(0.604), accepted, known(0.6), known(0.9)],
    [0.604, 0.604, 0.6, 0.9],
    [0.604],
  ],
  ['an echo may come first', [set(0.6), known(0.6), accepted, known(0.9)], [0.6, 0.6, 0.6, 0.9], [0.6]],
  [
    'a finger that rests on it grabs it, and newer values are displayed after its wait',
    [grab, known(0.9), release, settled],
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
  for (const [what, inputs, displayed, sent] of ROWS) {
    test(what, () => {
      const hand = new Hand();
      for (const input of inputs) hand.take(input);
      assert.deepEqual([hand.displayed, hand.sent], [displayed, sent]);
    });
  }
});
