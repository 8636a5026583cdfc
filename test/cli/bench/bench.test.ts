// `tonearm bench`: its command line, and what it makes of its measurements.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseBench } from '../../../src/cli/bench/bench.js';
import { MORE_LISTENERS, makeReport, reportTable } from '../../../src/cli/bench/report.js';

function measures(args: readonly string[], seconds: number, json: boolean): void {
  test(`bench ${args.join(' ')} measures`, () => {
    const request = parseBench(args);
    assert.ok(request.do === 'measure', JSON.stringify(request));
    assert.deepEqual([request.seconds, request.json], [seconds, json]);
    assert.match(
      request.notice,
      new RegExp(`^tonearm bench: for about ${seconds} s, the sound server has one more stream.*\n$`),
    );
  });
}

function wrong(args: readonly string[], named: string): void {
  test(`bench ${args.join(' ')} is refused`, () => {
    const request = parseBench(args);
    assert.ok(request.do === 'wrong', JSON.stringify(request));
    assert.match(request.message, /^[^\n]+; see tonearm bench --help$/);
    assert.ok(request.message.includes(named), request.message);
  });
}

measures([], 10, false);
measures(['--json'], 10, true);
measures(['--seconds', '2'], 2, false);
measures(['--seconds=60', '--json'], 60, true);

wrong(['--seconds', '1'], 'from 2 to 60');
wrong(['--seconds', '61'], 'from 2 to 60');
wrong(['--seconds', '2.5'], 'from 2 to 60');
wrong(['--seconds', '0x5'], 'from 2 to 60');
wrong(['--seconds='], 'from 2 to 60');
wrong(['--seconds'], '--seconds');
wrong(['--volume'], "'--volume'");
wrong(['now'], "'now'");

test('bench --help fits a terminal', () => {
  const request = parseBench(['--json', '--help']);
  assert.ok(request.do === 'help');
  for (const option of ['--seconds', '--json']) assert.ok(request.text.includes(option), option);
  for (const line of request.text.split('\n')) assert.ok(line.length <= 80, line);
});

const REST = { memoryMb: 61.239, wakeUpsPerSecond: 1.5, cpuMsPerMinute: 10 };
/** Decoded and encoded, 40 us a stream: 2500 in 0.1 s. */
const CODEC = { decodeUs: [90, 30, 20], encodeUs: [10, 5, 99] };
/** Half a core carries 250 changes a second. Ten a second leave 48 ms, and one more listener takes 0.01 ms. */
const SERVER = {
  ...CODEC,
  server: 'pulseaudio, 16.1',
  roundTripMs: [1, 3, 2],
  pipelinedPerSecond: [4000],
  alone: { ms: [9, 8, 7], cpuMs: 2 },
  crowded: { ms: [9], cpuMs: 2 + MORE_LISTENERS * 0.01 },
};

test('figures are medians of the measurements, and the estimate follows from them', () => {
  const report = makeReport({ seconds: 10, rest: REST, figures: SERVER });
  const { memory_mb, round_trip_ms_p50, event_to_bytes_ms_p50, event_to_bytes_ms_p99, decode_us_per_stream } =
    report.figures;
  assert.deepEqual(
    [memory_mb, round_trip_ms_p50, event_to_bytes_ms_p50, event_to_bytes_ms_p99, decode_us_per_stream],
    [61.2, 2, 8, 9, 30],
  );
  assert.deepEqual(report.estimate, { changes_per_second: 250, listeners: 4800, streams: 2500 });
  assert.ok(Object.values(report.figures).every((value) => typeof value === 'number'));
  const text = reportTable(report);
  assert.match(text, /^a request to the sound server, median +2 ms$/m);
  assert.match(text, /estimate.*\nhalf of a core .* 250 changes .*\n.* 4800 listeners .*\n.* 2500 streams /);
});

for (const [what, cpuMs, listeners] of [
  ['a listener that costs nothing that is seen', 2, 10_000],
  ['listeners that seem to save something', 1, 10_000],
] as const) {
  test(`${what} makes no infinite number`, () => {
    const figures = { ...SERVER, crowded: { ms: [9], cpuMs } };
    assert.equal(makeReport({ seconds: 10, rest: REST, figures }).estimate.listeners, listeners);
  });
}

test('a change that takes longer than its period leaves no time for listeners', () => {
  const figures = { ...SERVER, alone: { ms: [90], cpuMs: 60 }, crowded: { ms: [90], cpuMs: 70 } };
  assert.deepEqual(makeReport({ seconds: 10, rest: REST, figures }).estimate, {
    changes_per_second: 8,
    listeners: 0,
    streams: 2500,
  });
});

test('a figure that could not be measured is null, a dash, and not in the estimate', () => {
  const report = makeReport({ seconds: 10, rest: REST, figures: { ...CODEC, missing: 'nobody is there' } });
  assert.deepEqual([report.server, report.missing], [null, 'nobody is there']);
  assert.equal(report.figures['round_trip_ms_p50'], null);
  assert.deepEqual(report.estimate, { changes_per_second: null, listeners: null, streams: 2500 });
  const text = reportTable(report);
  assert.match(text, /some figures could not be measured: nobody is there/);
  assert.match(text, /^a request to the sound server, median +-$/m);
  assert.doesNotMatch(text, /null|NaN|half of a core/);
});
