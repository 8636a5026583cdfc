// Tests a control of the page: it displays no echo of an older value, sends one request at a time, and always
// sends the last value. An echo is a value of the control that the node reports back.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { advance, type Control } from '../../src/page/control.js';

/** The node rounds a volume by less than this. */
const TOLERANCE = 0.006;
const isSame = (left: number, right: number): boolean => Math.abs(left - right) < TOLERANCE;

type Input = Parameters<typeof advance<number>>[1];
const known = (value: number): Input => ({ kind: 'known', value });
const set = (value: number): Input => ({ kind: 'set', value });
/** `settled`: the control has waited for an echo as long as it may (`SETTLE_MS` of control.ts). */
const [grab, release, accepted, refused, settled] = (
  ['grab', 'release', 'accepted', 'refused', 'settled'] as const
).map((kind): Input => ({ kind })) as [Input, Input, Input, Input, Input];

/** Keeps what a control displays after each input, and what it sends. */
class ControlInUse {
  control: Control<number> = { known: 0.5 };
  readonly displayed: number[] = [];
  readonly sent: number[] = [];

  take(input: Input): void {
    const { sent: sentBefore } = this.control;
    this.control = advance(this.control, input, isSame);
    this.displayed.push(this.control.desired ?? this.control.known);
    // `sent` is the value of the open request. So a new value means a new request.
    const { sent } = this.control;
    if (sent === undefined || sent === sentBefore) return;
    assert.ok(
      sentBefore === undefined || ['accepted', 'refused'].includes(input.kind),
      'one request at a time',
    );
    this.sent.push(sent);
  }
}

interface Row {
  readonly title: string;
  readonly inputs: readonly Input[];
  /** The value after each input. */
  readonly displayed: readonly number[];
  readonly sent: readonly number[];
}

const ROWS: readonly Row[] = [
  {
    title: 'displays a value that the node sends',
    inputs: [known(0.7)],
    displayed: [0.7],
    sent: [],
  },
  {
    title: 'displays and sends a set value at once',
    inputs: [set(0.6)],
    displayed: [0.6],
    sent: [0.6],
  },
  {
    title: 'keeps values that are set during a request, and then sends only the last one',
    inputs: [set(0.6), set(0.61), set(0.62), accepted, accepted],
    displayed: [0.6, 0.61, 0.62, 0.62, 0.62],
    sent: [0.6, 0.62],
  },
  {
    title: 'displays no echo of an older value while a finger moves the control',
    inputs: [grab, set(0.6), set(0.7), accepted, known(0.6), accepted, known(0.7), release],
    displayed: [0.5, 0.6, 0.7, 0.7, 0.7, 0.7, 0.7, 0.7],
    sent: [0.6, 0.7],
  },
  {
    title: 'takes a rounded echo as the value',
    inputs: [set(0.604), accepted, known(0.6), known(0.9)],
    displayed: [0.604, 0.604, 0.6, 0.9],
    sent: [0.604],
  },
  {
    title: 'takes an echo that comes before the answer',
    inputs: [set(0.6), known(0.6), accepted, known(0.9)],
    displayed: [0.6, 0.6, 0.6, 0.9],
    sent: [0.6],
  },
  {
    title: 'displays a newer value of the node only some time after the finger has left the control',
    inputs: [grab, known(0.9), release, settled],
    displayed: [0.5, 0.5, 0.5, 0.9],
    sent: [],
  },
  {
    title: 'displays in the end the newer value that another client has set',
    inputs: [set(0.6), known(0.6), known(0.2), accepted, settled],
    displayed: [0.6, 0.6, 0.6, 0.6, 0.2],
    sent: [0.6],
  },
  {
    title: 'takes a refused value back',
    inputs: [set(0.6), refused],
    displayed: [0.6, 0.5],
    sent: [0.6],
  },
  {
    title: 'still sends the last value after a refusal',
    inputs: [set(0.6), set(0.7), refused, accepted],
    displayed: [0.6, 0.7, 0.7, 0.7],
    sent: [0.6, 0.7],
  },
  {
    title: 'ignores the end of the wait for an echo after the echo has come',
    inputs: [set(0.6), known(0.6), accepted, known(0.5), settled],
    displayed: [0.6, 0.6, 0.6, 0.5, 0.5],
    sent: [0.6],
  },
  {
    title: 'ignores the end of the wait for an echo during a request',
    inputs: [set(0.6), settled],
    displayed: [0.6, 0.6],
    sent: [0.6],
  },
];

describe('a control', () => {
  for (const { title, inputs, displayed, sent } of ROWS) {
    test(title, () => {
      const control = new ControlInUse();
      for (const input of inputs) control.take(input);
      assert.deepEqual([control.displayed, control.sent], [displayed, sent]);
    });
  }
});
