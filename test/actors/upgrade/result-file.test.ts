// The result file on a real file system, and its text: the accepted members and their spelling, and the
// reported problem of a bad one. Other kinds of files: small-file.test.ts; every way in which it appears,
// changes and vanishes: path-watch.test.ts.

import assert from 'node:assert/strict';
import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import {
  isRfc3339,
  parseResult,
  RESULT_MAX_BYTES,
  ResultFile,
  type ResultReading,
} from '../../../src/actors/upgrade/result-file.js';
import { systemClock } from '../../../src/host/clock.js';
import { ManualClock } from '../../manual-clock.js';
import { temporaryFolder } from '../../temporary-folder.js';
import { until } from '../../until.js';

const content = (version: string) =>
  `{"current":"0","latest":${JSON.stringify(version)},"upgrade_available":true}`;

/** A reader of a/b/result.json; `becomes` waits for its last result. */
function reader(t: TestContext) {
  const path = join(temporaryFolder(t), 'a', 'b', 'result.json');
  const readings: ResultReading[] = [];
  const start = async () => {
    const made = new ResultFile(path, (result) => readings.push(result), systemClock);
    t.after(() => made.stop());
    await made.read();
  };
  const becomes = (what: string) => until(what, () => JSON.stringify(readings.at(-1) ?? '').includes(what));
  return { path, start, becomes };
}

/** Writes as a careful detector does: beside the file, then renamed over it. */
function replace(path: string, text: string): void {
  writeFileSync(`${path}.new`, text);
  renameSync(`${path}.new`, path);
}

test('a result file that takes too long to read is reported, waited for, and published in the end', async (t) => {
  const path = join(temporaryFolder(t), 'result.json');
  writeFileSync(path, content('v1'));
  const readings: ResultReading[] = [];
  const clock = new ManualClock();
  const made = new ResultFile(path, (result) => readings.push(result), clock);
  // The manual clock reaches the deadline before the disk answers.
  const reading = made.read();
  clock.advance(4_000);
  await reading;
  const [late] = readings;
  assert.equal(late?.ok === false && late.error, 'it cannot be read within 4 s');
  assert.equal(readings[1]?.ok, true);
  assert.equal(clock.timers, 0);
  made.stop();
});

test('the last of many quick changes of the result file is the one that is published in the end', async (t) => {
  const { path, start, becomes } = reader(t);
  mkdirSync(dirname(path), { recursive: true });
  await start();
  for (let n = 1; n <= 300; n++) replace(path, content(`v${n}.`));
  await becomes('v300.');
});

const GOOD = '"current":"1","latest":"2","upgrade_available":true';

function good(text: string, members: string): void {
  test(`a result file is accepted: ${text.slice(0, 70)}`, () =>
    assert.deepEqual(parseResult(Buffer.from(text)), { ok: true, value: `{${members}}` }));
}

function bad(what: string, bytes: string | Uint8Array, problem: string): void {
  test(`a result file is refused: ${what}`, () =>
    assert.deepEqual(parseResult(Buffer.from(bytes)), { ok: false, error: problem }));
}

good(`{${GOOD}}`, GOOD);
good(`\ufeff{${GOOD}}\n`, GOOD);
good('{"upgrade_available":true,"latest":"2","current":"1"}', GOOD);
good(`{${GOOD},"checked_at":"2026-01-02T03:04:05Z"}`, `${GOOD},"checked_at":"2026-01-02T03:04:05Z"`);
good(`{${GOOD},"checked_at":"yesterday"}`, GOOD);
good(`{${GOOD},"checked_at":1700000000}`, GOOD);
good(`{${GOOD},"checked_at":null}`, GOOD);
good(
  `{"z": 1.50, "9":{"n":12345678901234567890, "2":1, "1":2},${GOOD},"extra":[],"run":1}`,
  `${GOOD},"extra":{"z":1.50,"9":{"n":12345678901234567890,"2":1,"1":2},"extra":[],"run":1}`,
);
good(`{${GOOD},"current":"3"}`, '"current":"3","latest":"2","upgrade_available":true');

/** Other keys must keep their spelling and order. */
function extra(members: string, expected: string): void {
  good(`{${GOOD},${members}}`, `${GOOD},"extra":{${expected}}`);
}

extra('"a" : 12345678901234567890 , "b":1E+2,"c":1.50', '"a":12345678901234567890,"b":1E+2,"c":1.50');
extra('"a":{"b":[1, {"c": "}],{"}]},"d":"x, \\"y\\" }"', '"a":{"b":[1,{"c":"}],{"}]},"d":"x, \\"y\\" }"');
extra('"__proto__":1,"constructor":[]', '"__proto__":1,"constructor":[]');
extra('"\\u0061":1,"a":2', '"a":2');
extra('"$":"#1","#":"$x"', '"$":"#1","#":"$x"');
extra('"a":"\\\\","b":"\\\\\\""', '"a":"\\\\","b":"\\\\\\""');
extra('"a":"\u2028\u00e9\ud83d\ude00"', '"a":"\u2028\u00e9\ud83d\ude00"');
extra('\n "a b" :\t[ 1 ,\r\n"  \\" \\\\" ] ', '"a b":[1,"  \\" \\\\"]');

test('escapes or plain text of the largest size are read', () => {
  const half = RESULT_MAX_BYTES / 2 - 50;
  const texts = ['\\n'.repeat(half), 'x'.repeat(2 * half)].map((text) => `"${text}"`);
  for (const value of [...texts, `[${'1, '.repeat(half / 2)}1]`]) {
    const result = parseResult(Buffer.from(`{${GOOD},"a":${value}}`));
    assert.equal(result.ok && result.value, `{${GOOD},"extra":{"a":${value.replaceAll(' ', '')}}}`);
  }
});

bad('empty', '', 'it is empty');
bad('half written', `{${GOOD.slice(0, 30)}`, 'it is not a JSON object');
bad('an array', '[]', 'it is not a JSON object');
bad('a missing field', '{"current":"1","upgrade_available":true}', 'it has no latest');
bad('a wrong type', '{"current":1,"latest":"2","upgrade_available":true}', 'current is not a string');
for (const text of ['"{}"', 'null', `{${GOOD}`, `{${GOOD}}x`]) bad(text, text, 'it is not a JSON object');
bad('null', '{"current":"1","latest":null,"upgrade_available":true}', 'latest is not a string');
bad('deep', `{${GOOD},"a":${'['.repeat(100_000)}${']'.repeat(100_000)}}`, 'it is nested too deeply');
bad('a number that JSON does not have', `{${GOOD},"a":01}`, 'it is not a JSON object');
bad('latin-1', Uint8Array.of(0x7b, 0xe9, 0x7d), 'it is not UTF-8');

test('a file of the largest size is read, and one of a byte more is not', async (t) => {
  const { path, start, becomes } = reader(t);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content('v1').padEnd(RESULT_MAX_BYTES));
  await start();
  await becomes('v1');
  replace(path, content('v1').padEnd(RESULT_MAX_BYTES + 1));
  await becomes('it is larger than 1048576 bytes');
});

test('only RFC 3339 times are accepted', () => {
  const right =
    '2026-01-02T03:04:05Z 2026-01-02t03:04:05z 2026-01-02T03:04:05.123456789+02:00 2026-01-02T03:04:05-00:00 ' +
    '2024-02-29T00:00:00Z 2026-12-31T23:59:59Z';
  const wrong =
    '2026-12-31T23:59:61Z 2023-02-29T00:00:00Z 2026-04-31T00:00:00Z 2026-13-01T00:00:00Z 2026-00-01T00:00:00Z ' +
    '2026-01-02T24:00:00Z 2026-01-02T03:60:00Z 2026-01-02T03:04:05 2026-01-02T03:04Z 2026-01-02T03:04:05.Z ' +
    '2026-01-02T03:04:05+24:00 2026-01-02T03:04:05+0200';
  for (const text of right.split(' ')) assert.ok(isRfc3339(text), text);
  const spaced = ['', ' 2026-01-02T03:04:05Z', '2026-01-02T03:04:05Z\n', '2026-01-02 03:04:05Z'];
  for (const text of [...wrong.split(' '), ...spaced]) assert.ok(!isRfc3339(text), text);
});
