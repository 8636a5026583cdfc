// How silence is judged.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HEARTBEAT, verdictOn } from '../../src/supervisor/incarnation.js';

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
    const verdict = verdictOn(utilization, missed, HEARTBEAT);
    assert.equal(verdict.kind === 'kill' ? verdict.reason : verdict.kind, expected);
  });
}
