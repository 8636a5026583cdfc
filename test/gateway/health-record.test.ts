// The text of GET /health: what it says, and that it is made once per change.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HealthText } from '../../src/gateway/health-record.js';
import type { Backend, BackendHealth } from '../../src/protocol/actor/backends.js';

/** Counts how often it is read. */
class Counted extends Map<Backend, BackendHealth> {
  readings = 0;

  override [Symbol.iterator](): ReturnType<Map<Backend, BackendHealth>[typeof Symbol.iterator]> {
    this.readings += 1;
    return super[Symbol.iterator]();
  }
}

const UP: BackendHealth = { state: 'up', since: 0, restarts: 0 };

test('it is made once per change, and always says how long the service runs and how many listen to it', () => {
  const health = new HealthText('1.2.3');
  const backends = new Counted([['audio', UP]]);
  const doors = { listening: ['10.0.0.2'], waiting: ['wlan0'] };
  const read = (uptimeMs: number, open: number, from: Counted) =>
    JSON.parse(health.of(uptimeMs, { open, closedSlow: 7 }, from, doors));
  const first = {
    uptime_s: 1,
    streams: { open: 2, closed_slow: 7 },
    status: 'ok',
    version: '1.2.3',
    listening: ['10.0.0.2'],
    waiting: ['wlan0'],
    backends: { audio: { state: 'up', since: '1970-01-01T00:00:00.000Z', restarts: 0 } },
  };
  assert.deepEqual(read(1999, 2, backends), first);
  assert.deepEqual(read(2000, 3, backends), { ...first, uptime_s: 2, streams: { open: 3, closed_slow: 7 } });
  assert.equal(backends.readings, 1);
  const changed = new Counted([['audio', { ...UP, state: 'connecting', detail: 'away' }]]);
  assert.equal(read(2000, 3, changed).status, 'degraded');
  const moved = { listening: [], waiting: [] };
  assert.deepEqual(JSON.parse(health.of(0, { open: 0, closedSlow: 0 }, changed, moved)).listening, []);
});
