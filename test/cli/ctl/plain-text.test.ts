// Answers as `tonearm ctl` prints them for people. With a real node: test/contract/ctl.test.ts.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { plainLines } from '../../../src/cli/ctl/plain-text.js';

/**
 * Upgrades have a member `extra`, which holds anything that the maker of the node has written into a file.
 */
const EXTRAS: readonly (readonly [extra: object, lines: readonly string[]])[] = [
  [{ packages: [{ name: 'mpd', size: 3 }] }, ['extra.packages:', '  name  size', '  mpd   3']],
  [{ constructor: [{ name: 'mpd' }] }, ['extra.constructor:', '  name', '  mpd']],
  [{ packages: [null, { name: 'mpd' }] }, ['extra.packages: -, {"name":"mpd"}']],
  [{ packages: [] }, ['extra.packages: -']],
  // A terminal would obey these control characters.
  [{ packages: [{ '\u001b[2J': 1 }] }, ['extra.packages:', '  \\u{1b}[2J', '  1']],
];

for (const [extra, lines] of EXTRAS)
  test(`the member extra with ${JSON.stringify(extra)} is printed as lines`, () =>
    assert.deepEqual(plainLines('upgrade', { extra }), lines));
