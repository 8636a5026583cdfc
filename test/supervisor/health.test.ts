// What /health says of each phase, and when it counts as a change.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { BackendHealth } from '../../src/protocol/actor/backends.js';
import type { Lifecycle } from '../../src/supervisor/lifecycle.js';
import { healthAfter } from '../../src/supervisor/lifecycle.js';

const UP: BackendHealth = { state: 'up', since: 100, restarts: 1 };

interface Row {
  readonly name: string;
  readonly before: BackendHealth | undefined;
  readonly life: Omit<Lifecycle, 'deaths'>;
  /** Absent: the very object `before`. */
  readonly after?: BackendHealth;
}

const ROWS: readonly Row[] = [
  {
    name: 'a first start is connecting',
    before: undefined,
    life: { phase: 'starting', restarts: 0 },
    after: { state: 'connecting', since: 200, restarts: 0 },
  },
  {
    name: 'a start after a death is still restarting',
    before: { state: 'restarting', since: 100, restarts: 1, detail: 'thread ended: x' },
    life: { phase: 'starting', restarts: 1, detail: 'thread ended: x' },
  },
  {
    name: 'a new state begins now',
    before: UP,
    life: { phase: 'restarting', restarts: 2, detail: 'thread ended: x' },
    after: { state: 'restarting', since: 200, restarts: 2, detail: 'thread ended: x' },
  },
  {
    name: 'a new detail keeps the time of the state',
    before: { state: 'connecting', since: 100, restarts: 0, detail: 'a' },
    life: { phase: 'connecting', restarts: 0, detail: 'b' },
    after: { state: 'connecting', since: 100, restarts: 0, detail: 'b' },
  },
  {
    name: 'a further death in the same state is a change',
    before: { state: 'restarting', since: 100, restarts: 1, detail: 'thread ended: x' },
    life: { phase: 'restarting', restarts: 2, detail: 'thread ended: x' },
    after: { state: 'restarting', since: 100, restarts: 2, detail: 'thread ended: x' },
  },
  {
    name: 'a try after the rest is restarting',
    before: { state: 'failed', since: 100, restarts: 6, detail: 'x' },
    life: { phase: 'starting', restarts: 6, detail: 'x' },
    after: { state: 'restarting', since: 200, restarts: 6, detail: 'x' },
  },
  { name: 'the same again is no change', before: UP, life: { phase: 'up', restarts: 1 } },
  { name: 'stopping reports nothing', before: UP, life: { phase: 'stopping', restarts: 1 } },
  { name: 'stopped reports nothing', before: UP, life: { phase: 'stopped', restarts: 1 } },
];

for (const { name, before, life, after } of ROWS) {
  test(name, () => {
    const health = healthAfter(before, { ...life, deaths: [] }, 200);
    if (after === undefined) assert.equal(health, before);
    else assert.deepEqual(health, after);
  });
}
