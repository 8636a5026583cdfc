// How much one thread may say.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FloodGauge, ITEMS_PER_WINDOW_MAX } from '../../src/supervisor/flood.js';

test('a storm of ten batches of a thousand items a second is admitted for ever', () => {
  const gauge = new FloodGauge();
  for (let now = 0; now < 60_000; now += 100) assert.equal(gauge.admits(1000, now), true);
});

test('one item above the bound within a second is a flood, and the next second is a new one', () => {
  const gauge = new FloodGauge();
  assert.equal(gauge.admits(ITEMS_PER_WINDOW_MAX, 0), true);
  assert.equal(gauge.admits(1, 999), false);
  assert.equal(gauge.admits(ITEMS_PER_WINDOW_MAX, 1000), true);
});
