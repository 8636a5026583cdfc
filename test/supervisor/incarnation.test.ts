// One thread: how its silence is judged, and how much it may say.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HEARTBEAT, isPinged, pongVerdict } from '../../src/supervisor/incarnation.js';

type Row = readonly [utilization: number | undefined, missed: number, verdict: string];

const ROWS: readonly Row[] = [
  [1, 0, 'hung: busy and no answer to a ping for 10 s'],
  [0.95, 0, 'hung: busy and no answer to a ping for 10 s'],
  [0.94, 0, 'wait'],
  [0, 0, 'wait'],
  [undefined, 0, 'wait'],
  [1, 1, 'hung: busy and no answer to a ping for 20 s'],
  [0, 1, 'deaf: idle and no answer to a ping for 20 s'],
  [undefined, 1, 'deaf: idle and no answer to a ping for 20 s'],
];

for (const [utilization, missed, expected] of ROWS) {
  test(`utilisation ${utilization}, ${missed} judgements before: ${expected}`, () => {
    const verdict = pongVerdict(utilization, missed, HEARTBEAT);
    assert.equal(verdict.kind === 'kill' ? verdict.reason : verdict.kind, expected);
  });
}

const PING_ROWS: readonly (readonly [utilization: number | undefined, beats: number, pinged: boolean])[] = [
  [1, 1, true],
  [0.01, 1, true],
  [0.009, 1, false],
  [0, 9, false],
  [0, 10, true],
  [undefined, 1, true],
];

for (const [utilization, beats, pinged] of PING_ROWS) {
  test(`utilisation ${utilization}, ${beats} beats since the last ping: ${pinged ? 'a' : 'no'} ping`, () => {
    assert.equal(isPinged(utilization, beats, HEARTBEAT), pinged);
  });
}
