// How long the children may take to stop, against the contract.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CHILDREN } from '../../src/supervisor/children.js';

test('all deadlines together leave the gateway its share of the 5 s', () => {
  const total = CHILDREN.reduce((sum, { stopWithinMs }) => sum + stopWithinMs, 0);
  assert.ok(total < 4000, `${total} ms`);
});
