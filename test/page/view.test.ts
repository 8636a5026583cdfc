// The part of the page that an address selects.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { viewOf } from '../../src/page/view.js';

const ROWS: readonly (readonly [query: string, isWall: boolean, only: readonly string[] | undefined])[] = [
  ['', false, undefined],
  ['?view=now', true, undefined],
  ['?view=then', false, undefined],
  ['?only=outputs,players', false, ['outputs', 'now']],
  ['?only=%20power%20,nothing', false, ['system']],
  ['?only=toString,', false, undefined],
];

for (const [query, isWall, only] of ROWS) {
  test(`${query || 'nothing'}: ${isWall ? 'a wall' : (only?.join() ?? 'all')}`, () => {
    const view = viewOf(query);
    assert.equal(view.isWall, isWall);
    assert.deepEqual(view.only && [...view.only], only);
  });
}
