// The table of children against the contract.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BACKENDS } from '../../src/protocol/actor/backends.js';
import { CHILDREN } from '../../src/supervisor/children.js';
import { SETTINGS } from '../crash/harness.js';

test('every backend has one child, in start order, with an entry of its own', () => {
  assert.deepEqual(
    CHILDREN.map(({ backend }) => backend),
    [...BACKENDS],
  );
  for (const { backend, entry } of CHILDREN) assert.equal(entry, `actors/${backend}/worker.js`);
});

test('a child runs when its backend is enabled', () => {
  for (const { backend, enabled } of CHILDREN) {
    for (const flag of [true, false]) {
      const settings = { ...SETTINGS, [backend]: { ...SETTINGS[backend], enabled: flag } };
      assert.equal(enabled(settings), flag, backend);
    }
  }
});

test('all deadlines together leave the gateway its share of the 5 s', () => {
  const total = CHILDREN.reduce((sum, { stopWithinMs }) => sum + stopWithinMs, 0);
  assert.ok(total < 4000, `${total} ms`);
});
