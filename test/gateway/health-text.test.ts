// The text of GET /health: what it says, and that it is made once per change.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HealthText } from '../../src/gateway/node-info.js';
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
  const health = new HealthText();
  const backends = new Counted([['audio', UP]]);
  const listening = { listening: ['10.0.0.2'], waiting: ['wlan0'] };
  const facts = {
    version: '1.2.3',
    uptimeMs: 1999,
    streams: { open: 2, closedSlow: 7 },
    listening,
    backends,
  };
  const first = {
    uptime_s: 1,
    streams: { open: 2, closed_slow: 7 },
    status: 'ok',
    version: '1.2.3',
    listening: ['10.0.0.2'],
    waiting: ['wlan0'],
    backends: { audio: { state: 'up', since: '1970-01-01T00:00:00.000Z', restarts: 0 } },
  };
  assert.deepEqual(JSON.parse(health.of(facts)), first);
  const later = { ...facts, uptimeMs: 2000, streams: { open: 3, closedSlow: 7 } };
  assert.deepEqual(JSON.parse(health.of(later)), {
    ...first,
    uptime_s: 2,
    streams: { open: 3, closed_slow: 7 },
  });
  assert.equal(backends.readings, 1);
  const changed = new Counted([['audio', { ...UP, state: 'connecting', detail: 'away' }]]);
  assert.equal(JSON.parse(health.of({ ...later, backends: changed })).status, 'degraded');
  const moved = { listening: [], waiting: [] };
  assert.deepEqual(JSON.parse(health.of({ ...later, backends: changed, listening: moved })).listening, []);
});
