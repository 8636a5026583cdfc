// The start of the supervisor: one child after another, and none kept waiting by one that hangs or dies as it loads.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { stage } from './harness.js';
import { ManualClock } from './manual-clock.js';

const DEADLINE = { timeout: 60_000 };

test('a child starts when the one before it has spoken', DEADLINE, async (t) => {
  // Its time stands still: on a busy machine the longest wait for a child may pass before it speaks.
  const clock = new ManualClock();
  const { witness } = stage(t, { audio: 'obedient', systemd: 'obedient', power: 'obedient' }, { clock });
  // All three: one that never came up would count as early.
  for (const backend of ['audio', 'systemd', 'power'] as const) await witness.untilState(backend, 'up');
  const firsts = witness.healths.map(([backend, { state }]) => `${backend} ${state}`);
  for (const [before, after] of [
    ['audio up', 'systemd connecting'],
    ['systemd up', 'power connecting'],
  ] as const) {
    assert.ok(
      firsts.indexOf(before) < firsts.indexOf(after),
      `${before}, then ${after}: ${firsts.join(', ')}`,
    );
  }
});

for (const fixture of ['hangs-at-load', 'throws-at-load', 'throws-at-start']) {
  test(
    `a child that ${fixture.replaceAll('-', ' ')} keeps the next one from nothing`,
    DEADLINE,
    async (t) => {
      const { witness } = stage(t, { audio: fixture, systemd: 'obedient' });
      await witness.untilState('systemd', 'up');
    },
  );
}
