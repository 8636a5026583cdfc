// The text of `GET /metrics`: its form, awkward names, and requests counted by operation and status. A real
// Prometheus reads it in test/contract/metrics.test.ts.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BUCKET_BOUNDS_S, RequestCounts } from '../../src/gateway/request-counts.js';
import { ManualClock } from '../manual-clock.js';
import { GatewayUnderTest, SETTINGS } from './gateway-under-test.js';
import { PLAYER, put, sink } from './scripted-backends.js';

async function metricLines(under: GatewayUnderTest): Promise<readonly string[]> {
  const { text } = await under.fetch({ path: '/metrics' });
  return text.split('\n');
}

function assertContains(lines: readonly string[], ...expected: readonly string[]): void {
  for (const line of expected) assert.ok(lines.includes(line), `${line}\nis not in\n${lines.join('\n')}`);
}

test('the answer to GET /metrics is complete OpenMetrics, which must not be stored', async (t) => {
  const under = GatewayUnderTest.up().closeAtEndOf(t);
  const { status, headers, text } = await under.fetch({ path: '/metrics' });
  assert.deepEqual(
    [status, headers['content-type'], headers['cache-control']],
    [200, 'application/openmetrics-text; version=1.0.0; charset=utf-8', 'no-store'],
  );
  assert.match(text, /\n# EOF\n$/);
  assertContains(
    text.split('\n'),
    '# TYPE tonearm_build info',
    `tonearm_build_info{version="1.2.3",node="${process.versions.node}"} 1`,
    '# UNIT process_cpu_seconds seconds',
    'tonearm_event_streams 0',
    'tonearm_backend_state{backend="audio",state="up"} 1',
    'tonearm_backend_state{backend="audio",state="failed"} 0',
    'tonearm_thread_heap_bytes{thread="audio"} 4096',
  );
  assert.match(text, /^tonearm_thread_cpu_seconds_total\{thread="main"\} \d/m);
});

test('quotes, backslashes and line ends in a name are escaped, and of two outputs with the same name only the first has metrics', async (t) => {
  const under = GatewayUnderTest.up().closeAtEndOf(t);
  const name = 'a "b"\\c\nd';
  under.gateway.listener.changes([
    put('audio.outputs', '0', { ...sink(0, name), volume: 0.4, muted: true }),
    put('audio.outputs', '1', { ...sink(1, name), volume: 0.7 }),
  ]);
  const label = '{output="a \\"b\\"\\\\c\\nd"}';
  const lines = await metricLines(under);
  assertContains(lines, `tonearm_output_volume_ratio${label} 0.4`, `tonearm_output_muted${label} 1`);
  assert.equal(lines.filter((line) => line.startsWith('tonearm_output_volume_ratio')).length, 1);
});

test('players are counted by program and state', async (t) => {
  const under = GatewayUnderTest.up().closeAtEndOf(t);
  const names = ['org.mpris.MediaPlayer2.vlc.instance7', 'org.mpris.MediaPlayer2.vlc'];
  under.gateway.listener.changes(
    names.map((bus_name) => put('players', bus_name, { ...PLAYER, bus_name, playback_status: 'Playing' })),
  );
  assertContains(
    await metricLines(under),
    'tonearm_players{player="vlc",state="playing"} 2',
    'tonearm_players{player="vlc",state="stopped"} 0',
  );
});

test('requests are counted by operation and status, and requests without a route as "none"', async (t) => {
  const under = GatewayUnderTest.up().closeAtEndOf(t);
  await under.fetch({ path: '/server' });
  await under.fetch({ path: '/server' });
  // This body has no content type, so the answer is 415.
  await under.fetch({ method: 'POST', path: '/audio/outputs/x/mute', body: '{' });
  await under.fetch({ path: '/nowhere' });
  // The first request for metrics is counted in the answer to the second.
  await metricLines(under);
  assertContains(
    await metricLines(under),
    'tonearm_requests_total{operation="server",status="200"} 2',
    'tonearm_requests_total{operation="muteOutput",status="415"} 1',
    'tonearm_requests_total{operation="none",status="404"} 1',
    'tonearm_requests_total{operation="metrics",status="200"} 1',
    'tonearm_request_duration_seconds_bucket{operation="server",le="+Inf"} 2',
    'tonearm_request_duration_seconds_count{operation="server"} 2',
  );
});

test('a duration is counted in the bucket of the least bound that it does not exceed', () => {
  // The least of `BUCKET_BOUNDS_S` is 1 ms and the last one is 10 s. So 10 001 ms is in no bucket.
  const counts = new RequestCounts();
  for (const ms of [0, 1, 1.1, 10_000, 10_001]) counts.note('server', 200, ms);
  const { buckets, count, sumS } =
    counts.countsByOperation().get('server') ?? assert.fail('nothing was counted');
  assert.deepEqual([buckets, count], [[2, 1, 0, 0, 0, 0, 1], 5]);
  assert.ok(Math.abs(sumS - 20.0031) < 1e-9, String(sumS));
  assert.equal(BUCKET_BOUNDS_S.length, buckets.length);
});

test('the reported start of the process changes only if the date is set by a second or more', async (t) => {
  const clock = new ManualClock();
  const startS = clock.date() / 1000;
  // The gateway computes the start from the date and the monotonic clock. It reads these one after the
  // other, so a difference below 1 s does not count as a date that was set.
  let aheadMs = 0;
  const date = () => clock.date() + aheadMs;
  const under = GatewayUnderTest.up(SETTINGS, { clock: { ...clock, date } }).closeAtEndOf(t);
  for (const [ms, expectedS] of [
    [0.4, startS],
    [-999, startS],
    [3_600_000, startS + 3600],
    [3_600_000.7, startS + 3600],
  ] as const) {
    clock.advance(60_000);
    aheadMs = ms;
    assertContains(await metricLines(under), `process_start_time_seconds ${expectedS}`);
  }
});
