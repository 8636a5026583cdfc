// How much one thread may say.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ITEMS_PER_WINDOW_MAX, RateLimit } from '../../src/supervisor/incarnation.js';

test('a storm of ten batches of a thousand items a second is admitted for ever', () => {
  const gauge = new RateLimit();
  for (let now = 0; now < 60_000; now += 100) assert.equal(gauge.admits(1000, now), true);
});

test('one item above the bound within a second is a flood, and the next second is a new one', () => {
  const gauge = new RateLimit();
  assert.equal(gauge.admits(ITEMS_PER_WINDOW_MAX, 0), true);
  assert.equal(gauge.admits(1, 999), false);
  assert.equal(gauge.admits(ITEMS_PER_WINDOW_MAX, 1000), true);
});
