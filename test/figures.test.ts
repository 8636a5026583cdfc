// Compares the figures of README.md with those of bench/RESULTS.md, and the sizes that documents name with
// those of the built files.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';

// build/test/figures.test.js -> the project's root
const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const textOf = (file: string): string => readFileSync(join(ROOT, file), 'utf8');
const README = textOf('README.md');

/** The first cells of a row of RESULTS.md. */
interface ResultRow {
  /** The name of the measurement. */
  readonly what: string;
  /** The program with which tonearm is compared, and its figure. */
  readonly against: string;
  /** The figure of tonearm. */
  readonly result: string;
  /** How the two figures compare: `2.74 x`, or a difference such as `+0.19 ms`. */
  readonly ratio: string;
}

const RESULTS: readonly ResultRow[] = textOf('bench/RESULTS.md')
  .split('\n')
  .filter((line) => line.startsWith('| '))
  .map((line) => {
    const [, what = '', against = '', result = '', ratio = ''] = line.split(/ *\| */);
    return { what, against, result, ratio };
  });

/** The beginning of a row of README's table, and the `what` and `against` of the results that it sums up. */
const RATIOS: readonly (readonly [beginning: string, what: RegExp, against: RegExp])[] = [
  ['requests to `GET /audio` ', /^GET \/audio, /, /^uWS, /],
  [
    'reading records of what plays, properties unchanged ',
    /^decoding \d+ sink inputs of \w+$/,
    /^pulseaudio\.js/,
  ],
  ['the same | libpulse in C ', /^decoding \d+ sink inputs of \w+$/, /^libpulse/],
  ['an event of the sound server, ', /^event to SSE bytes, .*, p50$/, /^a bare program/],
  ['memory at rest, audio and units ', /^Rss at rest: tonearm, audio and units alone,/, /^bare Node/],
];

/** The figure with two significant digits. */
const rounded = (figure: number): number => Number(figure.toPrecision(2));

for (const [beginning, what, against] of RATIOS) {
  test(`the figures of README's row "${beginning.trim()}" are those of the last whole run of the bench`, () => {
    const rows = RESULTS.filter((row) => what.test(row.what) && against.test(row.against));
    const ratios = rows.map(({ ratio }) => Number.parseFloat(ratio));
    const lowest = rounded(Math.min(...ratios));
    const highest = rounded(Math.max(...ratios));
    const figures = lowest === highest ? String(lowest) : `${lowest} to ${highest}`;
    const line = README.split('\n').find((text) => text.startsWith(`| ${beginning}`)) ?? '';
    // Nothing follows the last `|` of a row.
    const lastCell = line.split('|').at(-2);
    assert.match(lastCell ?? '', new RegExp(`^ ${figures} (?:x|ms) `));
  });
}

test('README names the memory and the wake-ups at rest that the bench has measured', () => {
  const resultOf = (figure: string) => {
    const what = `${figure} at rest: tonearm, audio and units alone, as packaged`;
    return Number.parseFloat(RESULTS.find((row) => row.what === what)?.result ?? '');
  };
  const [, memory, wakeUps] =
    /\*\* (\d+) MB of memory with audio and units, and ([\d.]+) wake-ups/.exec(README) ?? [];
  assert.equal(Number(memory), rounded(resultOf('Rss')));
  assert.equal(Number(wakeUps), rounded(resultOf('wake-ups')));
});

/** A document, the text around a size in kB, the built file, and whether the size is that with gzip. */
const SIZES: readonly (readonly [document: string, text: RegExp, file: string, form?: 'gzip'])[] = [
  ['bench/FIGURES.md', /^\| the client \| (\S+) kB, /m, 'dist-client/client.js'],
  ['bench/FIGURES.md', /^\| the client \| .* (\S+) kB with gzip/m, 'dist-client/client.js', 'gzip'],
  ['docs/client.md', / (\d+) kB \(/, 'dist-client/client.js'],
  ['docs/client.md', / kB \((\S+) kB with gzip\)/, 'dist-client/client.js', 'gzip'],
  ['README.md', /\[A client\].* (\d+) kB with types/, 'dist-client/client.js'],
  ['bench/FIGURES.md', /^\| the bundle of `main\.js` \| (\d+) kB/m, 'dist/main.bundle.js'],
  ['bench/FIGURES.md', /^\| the bundle of the MQTT .* \| (\d+) kB/m, 'dist/actors/mqtt/bridge.bundle.js'],
];

for (const [document, text, file, form] of SIZES) {
  test(`the size${form === 'gzip' ? ' with gzip' : ''} of ${file} in ${document} is right within a tenth`, () => {
    const built = readFileSync(join(ROOT, file));
    const size = (form === 'gzip' ? gzipSync(built) : built).length / 1000;
    const documented = Number(text.exec(textOf(document))?.[1]);
    assert.ok(Math.abs(documented - size) < size / 10, `${documented} kB, but it has ${size} kB`);
  });
}
