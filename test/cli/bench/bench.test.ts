// Tests the command line of `tonearm bench`, the report of the measurements, and the sample list that the
// bench decodes and encodes.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseBench } from '../../../src/cli/bench/bench.js';
import * as reports from '../../../src/cli/bench/report.js';
import { sampleWork } from '../../../src/cli/bench/sample-list.js';

interface ExpectedRequest {
  readonly seconds: number;
  readonly json: boolean;
}

function testMeasures(args: readonly string[], { seconds, json }: ExpectedRequest): void {
  test(`bench ${args.join(' ')} measures for ${seconds} s`, () => {
    const request = parseBench(args);
    assert.ok(request.do === 'measure', JSON.stringify(request));
    assert.deepEqual([request.seconds, request.json], [seconds, json]);
    assert.match(
      request.notice,
      new RegExp(`^tonearm bench: for about ${seconds} s, the sound server has one more stream.*\n$`),
    );
  });
}

function testRefused(args: readonly string[], reason: string): void {
  test(`bench ${args.join(' ')} is refused`, () => {
    const request = parseBench(args);
    assert.ok(request.do === 'wrong', JSON.stringify(request));
    assert.match(request.message, /^[^\n]+; see tonearm bench --help$/);
    assert.ok(request.message.includes(reason), request.message);
  });
}

testMeasures([], { seconds: 10, json: false });
testMeasures(['--json'], { seconds: 10, json: true });
testMeasures(['--seconds', '2'], { seconds: 2, json: false });
testMeasures(['--seconds=60', '--json'], { seconds: 60, json: true });

testRefused(['--seconds', '1'], 'from 2 to 60');
testRefused(['--seconds', '61'], 'from 2 to 60');
testRefused(['--seconds', '2.5'], 'from 2 to 60');
testRefused(['--seconds', '0x5'], 'from 2 to 60');
testRefused(['--seconds='], 'from 2 to 60');
testRefused(['--seconds'], '--seconds');
testRefused(['--volume'], "'--volume'");
testRefused(['now'], "'now'");

test('bench --help names every option, and fits a terminal', () => {
  const request = parseBench(['--json', '--help']);
  assert.ok(request.do === 'help');
  for (const option of ['--seconds', '--json']) assert.ok(request.text.includes(option), option);
  for (const line of request.text.split('\n')) assert.ok(line.length <= 80, line);
});

/**
 * The bench measures these figures even without a sound server. Decoding and encoding take 40 µs per stream,
 * so the estimate for 0.1 s is 2500 streams.
 */
const FIGURES_WITHOUT_SERVER = { memory_mb: 61.239, decode_us_per_stream: 30, encode_us_per_stream: 10 };
/**
 * With one listener, a change takes 2 ms, so half a core carries 250 changes a second. At ten changes a
 * second, half a core has 50 ms for each change. The remaining 48 ms are enough for 4800 further listeners,
 * because each of them takes 0.01 ms.
 */
const FIGURES = {
  ...FIGURES_WITHOUT_SERVER,
  round_trip_ms_p50: 2,
  cpu_ms_per_change: 2,
  cpu_ms_per_change_crowded: 2 + reports.LISTENERS_ADDED * 0.01,
};
const SECONDS = 10;
const reportOf = (figures: reports.Figures, missing = '') =>
  reports.makeReport({ figures, missing }, SECONDS);

test('a quantile is one of the values, or NaN if there are no values', () => {
  assert.deepEqual(
    [reports.quantile([90, 30, 20], 0.5), reports.quantile([9, 8, 7], 0.99), reports.quantile([], 0.5)],
    [30, 9, NaN],
  );
});

test('the estimate follows from the figures', () => {
  const report = reports.makeReport({ figures: FIGURES, server: 'pulseaudio, 16.1' }, SECONDS);
  assert.deepEqual(
    [report.server, report.missing, report.figures.memory_mb],
    ['pulseaudio, 16.1', null, 61.2],
  );
  assert.deepEqual(report.estimate, { changes_per_second: 250, listeners: 4800, streams: 2500 });
  const text = reports.reportTable(report);
  assert.match(text, /^a request to the sound server, median +2 ms$/m);
  assert.match(text, /estimate.*\nhalf of a core .* 250 changes .*\n.* 4800 listeners .*\n.* 2500 streams /);
});

// The estimate is 10 000 listeners at most (`LISTENERS_MAX` in report.ts).
for (const { reason, aloneMs, crowdedMs, listeners } of [
  { reason: 'a listener seems to cost nothing', aloneMs: 2, crowdedMs: 2, listeners: 10_000 },
  { reason: 'listeners seem to save time', aloneMs: 2, crowdedMs: 1, listeners: 10_000 },
  {
    reason: 'a change takes more than the 50 ms that half a core has for it',
    aloneMs: 60,
    crowdedMs: 70,
    listeners: 0,
  },
]) {
  test(`the estimate of listeners is ${listeners} if ${reason}`, () => {
    const figures = { cpu_ms_per_change: aloneMs, cpu_ms_per_change_crowded: crowdedMs };
    assert.equal(reportOf(figures).estimate.listeners, listeners);
  });
}

test('a figure that could not be measured is null in JSON and a dash in the table, and no estimate is made from it', () => {
  const report = reportOf(FIGURES_WITHOUT_SERVER, 'nobody is there');
  assert.deepEqual([report.server, report.missing], [null, 'nobody is there']);
  const { figures, estimate } = JSON.parse(JSON.stringify(report));
  assert.equal(figures.round_trip_ms_p50, null);
  assert.deepEqual(estimate, { changes_per_second: null, listeners: null, streams: 2500 });
  const text = reports.reportTable(report);
  assert.match(text, /some figures could not be measured: nobody is there/);
  assert.match(text, /^a request to the sound server, median +-$/m);
  assert.doesNotMatch(text, /null|NaN|half of a core/);
});

test('the sample list is decoded completely, and encoded as the records that clients receive', () => {
  const { streams, decode, encode } = sampleWork();
  const list = decode();
  assert.equal(list.length, streams);
  // The expected values are those that sample-list.ts writes.
  const last = list.at(-1);
  assert.equal(last?.name, `Song ${streams - 1}`);
  assert.equal(last?.sinkLatency, 20_000);
  assert.equal(last?.props['application.process.binary'], 'mpd');
  assert.deepEqual([last?.corked, last?.hasVolume, last?.volumeWritable], [false, true, true]);
  const texts = encode();
  assert.equal(texts.length, streams);
  const { id, app, output, volume } = JSON.parse(texts.at(-1) ?? '');
  assert.deepEqual([id, app, output, volume], [streams - 1, 'Music Player Daemon', 'speakers', 1]);
});
