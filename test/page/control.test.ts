// Tests a control of the page: it displays no echo of an older value, sends one request at a time, and
// always sends the last value. An echo is a value of the control that the node reports back.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { advance, type Control, type ControlInput } from '../../src/page/control.js';

/** The node rounds a volume by less than this. */
const TOLERANCE = 0.006;
const isSame = (left: number, right: number): boolean => Math.abs(left - right) < TOLERANCE;

type Input = ControlInput<number>;
const known = (value: number): Input => ({ kind: 'known', value });
const set = (value: number): Input => ({ kind: 'set', value });
const grab: Input = { kind: 'grab' };
const release: Input = { kind: 'release' };
const accepted: Input = { kind: 'accepted' };
const refused: Input = { kind: 'refused' };
/** The control has waited for an echo as long as it may (`SETTLE_MS` of control.ts). */
const settled: Input = { kind: 'settled' };

const FIRST_VALUE = 0.5;

/** Keeps what a control displays after each input, and what it sends. */
class ControlInUse {
  control: Control<number> = { known: FIRST_VALUE };
  readonly displayed: number[] = [];
  readonly sent: number[] = [];

  take(input: Input): void {
    const { sent: sentBefore } = this.control;
    this.control = advance(this.control, input, isSame);
    this.displayed.push(this.control.desired ?? this.control.known);
    // `sent` is the value of the open request. So a new value means a new request.
    const { sent } = this.control;
    if (sent === undefined || sent === sentBefore) return;
    const maySend = sentBefore === undefined || ['accepted', 'refused'].includes(input.kind);
    assert.ok(maySend, 'one request at a time');
    this.sent.push(sent);
  }
}

interface Row {
  readonly title: string;
  readonly steps: readonly (readonly [input: Input, displayed: number])[];
  readonly sent: readonly number[];
}

const ROWS: readonly Row[] = [
  {
    title: 'displays a value that the node sends',
    steps: [[known(0.7), 0.7]],
    sent: [],
  },
  {
    title: 'displays and sends a set value at once',
    steps: [[set(0.6), 0.6]],
    sent: [0.6],
  },
  {
    title: 'keeps values that are set during a request, and then sends only the last one',
    steps: [
      [set(0.6), 0.6],
      [set(0.61), 0.61],
      [set(0.62), 0.62],
      [accepted, 0.62],
      [accepted, 0.62],
    ],
    sent: [0.6, 0.62],
  },
  {
    title: 'displays no echo of an older value while a finger moves the control',
    steps: [
      [grab, 0.5],
      [set(0.6), 0.6],
      [set(0.7), 0.7],
      [accepted, 0.7],
      [known(0.6), 0.7],
      [accepted, 0.7],
      [known(0.7), 0.7],
      [release, 0.7],
    ],
    sent: [0.6, 0.7],
  },
  {
    title: 'takes a rounded echo as the value',
    steps: [
      [set(0.604), 0.604],
      [accepted, 0.604],
      [known(0.6), 0.6],
      // The control waits for no echo now, so it displays another value at once.
      [known(0.9), 0.9],
    ],
    sent: [0.604],
  },
  {
    title: 'takes an echo that comes before the answer',
    steps: [
      [set(0.6), 0.6],
      [known(0.6), 0.6],
      [accepted, 0.6],
      // The control waits for no echo after the answer, so it displays another value at once.
      [known(0.9), 0.9],
    ],
    sent: [0.6],
  },
  {
    title: 'displays a newer value of the node only some time after the finger has left the control',
    steps: [
      [grab, 0.5],
      [known(0.9), 0.5],
      [release, 0.5],
      [settled, 0.9],
    ],
    sent: [],
  },
  {
    title: 'displays in the end the newer value that another client has set',
    steps: [
      [set(0.6), 0.6],
      [known(0.6), 0.6],
      [known(0.2), 0.6],
      [accepted, 0.6],
      [settled, 0.2],
    ],
    sent: [0.6],
  },
  {
    title: 'takes a refused value back',
    steps: [
      [set(0.6), 0.6],
      [refused, 0.5],
    ],
    sent: [0.6],
  },
  {
    title: 'keeps a refused value under the finger, and takes it back after the release',
    steps: [
      [grab, 0.5],
      [set(0.6), 0.6],
      [refused, 0.6],
      [known(0.4), 0.6],
      [release, 0.6],
      [settled, 0.4],
    ],
    sent: [0.6],
  },
  {
    title: 'still sends the last value after a refusal',
    steps: [
      [set(0.6), 0.6],
      [set(0.7), 0.7],
      [refused, 0.7],
      [accepted, 0.7],
    ],
    sent: [0.6, 0.7],
  },
  {
    title: 'stays as it is if the wait for an echo ends after the echo has come',
    steps: [
      [set(0.6), 0.6],
      [known(0.6), 0.6],
      [accepted, 0.6],
      [known(0.5), 0.5],
      [settled, 0.5],
    ],
    sent: [0.6],
  },
  {
    title: 'stays as it is if the wait for an echo ends during a request',
    steps: [
      [set(0.6), 0.6],
      [settled, 0.6],
    ],
    sent: [0.6],
  },
];

describe('a control', () => {
  for (const { title, steps, sent } of ROWS) {
    test(title, () => {
      const control = new ControlInUse();
      for (const [input] of steps) control.take(input);
      const displayed = steps.map(([, value]) => value);
      assert.deepEqual([control.displayed, control.sent], [displayed, sent]);
    });
  }
});
