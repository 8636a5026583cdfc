// Answers as `tonearm ctl` prints them for people. With a real node: test/contract/ctl.test.ts.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { plainLines } from '../../../src/cli/ctl/plain-text.js';

/** `extra` is a member of an upgrade. Its keys come from another program, so it may have any content. */
const EXTRAS: readonly (readonly [extra: object, lines: readonly string[]])[] = [
  [{ packages: [{ name: 'mpd', size: 3 }] }, ['extra.packages:', '  name  size', '  mpd   3']],
  [{ constructor: [{ name: 'mpd' }] }, ['extra.constructor:', '  name', '  mpd']],
  [{ packages: [null, { name: 'mpd' }] }, ['extra.packages: -, {"name":"mpd"}']],
  [{ packages: [] }, ['extra.packages: -']],
  // A terminal would obey these control characters.
  [{ packages: [{ '\u001b[2J': 1 }] }, ['extra.packages:', '  \\u{1b}[2J', '  1']],
];

for (const [extra, lines] of EXTRAS)
  test(`the member extra of an upgrade is printed as lines if it is ${JSON.stringify(extra)}`, () =>
    assert.deepEqual(plainLines('upgrade', { extra }), lines));
