// The health of a child is reported with a detail of bounded length.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { BackendHealth } from '../../src/protocol/actor/backends.js';
import { ChildHealth, type ReportedHealth } from '../../src/supervisor/child-health.js';

test('a detail that is too long is cut, and the same health is not reported a second time', () => {
  const reported: BackendHealth[] = [];
  const health = new ChildHealth('mqtt', {
    clock: { date: () => 0 },
    log: () => undefined,
    listener: { health: (_child, report) => reported.push(report) },
  });
  const failed: ReportedHealth = { state: 'failed', restarts: 0, detail: 'x'.repeat(100_000) };
  health.report(failed);
  health.report(failed);
  // The only report has a detail of DETAIL_MAX_CHARACTERS (src/supervisor/child-health.ts).
  assert.deepEqual(
    reported.map(({ detail }) => detail?.length),
    [4096],
  );
});
