// Tests the results that bench/ computes from its figures: medians, comparisons round by round, goals, and
// the table of RESULTS.md.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Report } from '../../bench/support/measurement.js';
import { resultsDocument } from '../../bench/support/results.js';
import { columns, type Row, resultOf } from '../../bench/support/rows.js';

const ROW: Row = { what: 'a change', unit: 'ms', samples: [2, 4, 3, 9] };
const THEIRS = { what: 'the bare one', samples: [1, 2, 3, 3] };

/**
 * Changes of ROW, and columns that the changed ROW prints. Of four sorted figures, the third is the median.
 * The spread is from the second to the fourth (`quantile` in bench/support/figures.ts).
 */
const PRINTED: readonly (readonly [change: Partial<Row>, printed: Readonly<Record<string, string>>])[] = [
  [{}, { result: '4 ms', spread: '3 to 9', against: '', ratio: '', goal: '' }],
  // Each round has a ratio. The median of these ratios is printed, and not the ratio of the medians.
  [{ against: THEIRS }, { against: 'the bare one: 3 ms', ratio: '2 x', spread: '2 to 3' }],
  // If the numbers of rounds differ, the ratio is that of the medians.
  [{ against: { what: 'once', samples: [8] } }, { ratio: '0.5 x', spread: '' }],
  [
    { against: THEIRS, compare: 'theirs / ours' },
    { ratio: '0.5 x', spread: '0.5 to 1' },
  ],
  [
    { against: THEIRS, compare: 'ours - theirs' },
    { ratio: '+2 ms', spread: '1 to 6' },
  ],
  [{ against: THEIRS, goal: { atMost: 2 } }, { goal: '<= 2 x' }],
  [{ against: THEIRS, goal: { atMost: 1.9 } }, { goal: '<= 1.9 x: missed' }],
  [{ against: THEIRS, goal: { atLeast: 3 } }, { goal: '>= 3 x: missed' }],
  [{ against: THEIRS, goal: { of: 'result', atMost: 4 } }, { goal: '<= 4 ms' }],
  [{ against: THEIRS, compare: 'ours - theirs', goal: { atMost: 1 } }, { goal: '<= +1 ms: missed' }],
  // A goal of a comparison is missed if there is nothing to compare with.
  [{ goal: { atMost: 2 } }, { goal: '<= 2 x: missed' }],
  [{ samples: [] }, { result: '- ms' }],
  // A figure is rounded to three digits, or from 1000 on to a whole number (`printed` in rows.ts).
  [{ samples: [64_123.4] }, { result: '64123 ms' }],
  [{ samples: [0.012345] }, { result: '0.0123 ms' }],
];
for (const [change, printed] of PRINTED) {
  test(`a row with ${JSON.stringify(change)} prints ${JSON.stringify(printed)}`, () => {
    const allColumns = columns(resultOf({ ...ROW, ...change }));
    const selected = Object.keys(printed).map((column) => [column, allColumns[column]]);
    assert.deepEqual(Object.fromEntries(selected), printed);
  });
}

test('RESULTS.md has the machine, the rows, the missed goals, and what was not measured', () => {
  const report: Report = {
    name: 'change',
    machine: {
      cpu: 'A CPU',
      cores: 2,
      node: 'v20.0.0',
      kernel: '6.1',
      sound: ['pulseaudio 16.1'],
      load: 3,
      busy: true,
    },
    quick: false,
    seconds: 61,
    notes: ['libpulse (no compiler)'],
    rows: [
      resultOf({ ...ROW, against: THEIRS, goal: { atMost: 1.15 } }),
      resultOf({ ...ROW, goal: { of: 'result', atMost: 5 } }),
    ],
  };
  const failedMeasurements = ['http'];
  const text = resultsDocument([report], failedMeasurements);
  for (const part of [
    '2 x A CPU, Node v20.0.0, Linux 6.1, pulseaudio 16.1; load 3 at the start: THE MACHINE WAS BUSY.',
    '2 figures in 1 min; 1 of 2 goals reached.',
    '**Not measured: http failed.**',
    '## change\n\n61 s, load 3 when it began\n\nLeft out: libpulse (no compiler).\n\n',
    '| what | against | result | ratio | spread | goal |\n| --- | --- | --- | --- | --- | --- |\n',
    '| a change | the bare one: 3 ms | 4 ms | 2 x | 2 to 3 | <= 1.15 x: missed |\n',
  ])
    assert.ok(text.includes(part), `${part}\n--- is not in\n${text}`);
});
