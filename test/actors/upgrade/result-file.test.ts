// Tests how the result file is read on a real file system, which texts are accepted, and which problem is
// reported for any other text. small-file.test.ts tests paths that lead to no regular file, and
// path-watch.test.ts tests every way in which a file appears, changes and vanishes.

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

const resultWith = (version: string) =>
  `{"current":"0","latest":${JSON.stringify(version)},"upgrade_available":true}`;

/** A reader of a/b/result.json. `untilRead` waits until the newest reading contains the text. */
function createReader(t: TestContext) {
  const path = join(temporaryFolder(t), 'a', 'b', 'result.json');
  const readings: ResultReading[] = [];
  const start = async () => {
    const resultFile = new ResultFile(path, (result) => readings.push(result), systemClock);
    t.after(() => resultFile.stop());
    await resultFile.read();
  };
  const untilRead = (text: string) =>
    until(`the last reading contains ${text}`, () => JSON.stringify(readings.at(-1) ?? '').includes(text));
  return { path, start, untilRead };
}

/** Writes a new file and renames it to `path`, so that a reader never finds half of the text. */
function replace(path: string, text: string): void {
  writeFileSync(`${path}.new`, text);
  renameSync(`${path}.new`, path);
}

test('if the result file takes too long to read, first this problem is reported, and later its content', async (t) => {
  const path = join(temporaryFolder(t), 'result.json');
  writeFileSync(path, resultWith('v1'));
  const readings: ResultReading[] = [];
  const clock = new ManualClock();
  const resultFile = new ResultFile(path, (result) => readings.push(result), clock);
  // The manual clock reaches the deadline before the disk answers.
  const reading = resultFile.read();
  clock.advance(4_000);
  await reading;
  const [firstReading, secondReading] = readings;
  assert.equal(firstReading?.ok === false && firstReading.error, 'it cannot be read within 4 s');
  assert.equal(secondReading?.ok, true);
  assert.equal(clock.timers, 0);
  resultFile.stop();
});

test('after many quick changes of the result file, its last text is read', async (t) => {
  const { path, start, untilRead } = createReader(t);
  mkdirSync(dirname(path), { recursive: true });
  await start();
  for (let version = 1; version <= 300; version++) replace(path, resultWith(`v${version}`));
  await untilRead('v300');
});

/** The required members, as JSON text. */
const REQUIRED = '"current":"1","latest":"2","upgrade_available":true';

/** Tests that the text is read as an object with `expectedMembers`. */
function testAccepted(text: string, expectedMembers: string): void {
  test(`a result file is accepted: ${text.slice(0, 70)}`, () =>
    assert.deepEqual(parseResult(Buffer.from(text)), { ok: true, value: `{${expectedMembers}}` }));
}

function testRefused(why: string, bytes: string | Uint8Array, problem: string): void {
  test(`a result file is refused: ${why}`, () =>
    assert.deepEqual(parseResult(Buffer.from(bytes)), { ok: false, error: problem }));
}

testAccepted(`{${REQUIRED}}`, REQUIRED);
testAccepted(`\ufeff{${REQUIRED}}\n`, REQUIRED);
testAccepted('{"upgrade_available":true,"latest":"2","current":"1"}', REQUIRED);
testAccepted(
  `{${REQUIRED},"checked_at":"2026-01-02T03:04:05Z"}`,
  `${REQUIRED},"checked_at":"2026-01-02T03:04:05Z"`,
);
// A `checked_at` that is no time of RFC 3339 is left out.
testAccepted(`{${REQUIRED},"checked_at":"yesterday"}`, REQUIRED);
testAccepted(`{${REQUIRED},"checked_at":1700000000}`, REQUIRED);
testAccepted(`{${REQUIRED},"checked_at":null}`, REQUIRED);
// All other members go into the member `extra`, even a member whose own name is `extra`.
testAccepted(
  `{"z": 1.50, "9":{"n":12345678901234567890, "2":1, "1":2},${REQUIRED},"extra":[],"run":1}`,
  `${REQUIRED},"extra":{"z":1.50,"9":{"n":12345678901234567890,"2":1,"1":2},"extra":[],"run":1}`,
);
// The last one of two members with the same name counts.
testAccepted(`{${REQUIRED},"current":"3"}`, '"current":"3","latest":"2","upgrade_available":true');

/** Tests members that are not required: numbers keep their spelling, and keys keep their order. */
function testKept(members: string, expectedMembers: string): void {
  testAccepted(`{${REQUIRED},${members}}`, `${REQUIRED},"extra":{${expectedMembers}}`);
}

testKept('"a" : 12345678901234567890 , "b":1E+2,"c":1.50', '"a":12345678901234567890,"b":1E+2,"c":1.50');
testKept('"a":{"b":[1, {"c": "}],{"}]},"d":"x, \\"y\\" }"', '"a":{"b":[1,{"c":"}],{"}]},"d":"x, \\"y\\" }"');
testKept('"__proto__":1,"constructor":[]', '"__proto__":1,"constructor":[]');
// Both names are `a`, but the first one is written with an escape. The last member counts.
testKept('"\\u0061":1,"a":2', '"a":2');
// The parser marks strings with `$` and numbers with `#` (`markTokens` in result-file.ts). Here the file
// itself has these characters.
testKept('"$":"#1","#":"$x"', '"$":"#1","#":"$x"');
testKept('"a":"\\\\","b":"\\\\\\""', '"a":"\\\\","b":"\\\\\\""');
testKept('"a":"\u2028\u00e9\ud83d\ude00"', '"a":"\u2028\u00e9\ud83d\ude00"');
testKept('\n "a b" :\t[ 1 ,\r\n"  \\" \\\\" ] ', '"a b":[1,"  \\" \\\\"]');

test('a huge value is read, whether it has escapes, is plain text or is a list', () => {
  const REQUIRED_PART_MAX_LENGTH = 100;
  const hugeLength = RESULT_MAX_BYTES - REQUIRED_PART_MAX_LENGTH;
  const escapes = `"${'\\n'.repeat(hugeLength / 2)}"`;
  const plainText = `"${'x'.repeat(hugeLength)}"`;
  const list = `[${'1, '.repeat(hugeLength / 4)}1]`;
  for (const value of [escapes, plainText, list]) {
    const result = parseResult(Buffer.from(`{${REQUIRED},"a":${value}}`));
    assert.equal(result.ok && result.value, `{${REQUIRED},"extra":{"a":${value.replaceAll(' ', '')}}}`);
  }
});

testRefused('it is empty', '', 'it is empty');
testRefused('it is half written', `{${REQUIRED.slice(0, 30)}`, 'it is not a JSON object');
testRefused('it is an array', '[]', 'it is not a JSON object');
testRefused('latest is missing', '{"current":"1","upgrade_available":true}', 'it has no latest');
testRefused(
  'current is a number',
  '{"current":1,"latest":"2","upgrade_available":true}',
  'current is not a string',
);
for (const text of ['"{}"', 'null', `{${REQUIRED}`, `{${REQUIRED}}x`])
  testRefused(`it is ${text}`, text, 'it is not a JSON object');
testRefused(
  'latest is null',
  '{"current":"1","latest":null,"upgrade_available":true}',
  'latest is not a string',
);
testRefused(
  'a member is nested too deeply',
  `{${REQUIRED},"a":${'['.repeat(100_000)}${']'.repeat(100_000)}}`,
  'it is nested too deeply',
);
testRefused('a number begins with 0', `{${REQUIRED},"a":01}`, 'it is not a JSON object');
testRefused('it is Latin-1', Uint8Array.of(0x7b, 0xe9, 0x7d), 'it is not UTF-8');

test('a file of the largest size is read, and a file with one byte more is not', async (t) => {
  const { path, start, untilRead } = createReader(t);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, resultWith('v1').padEnd(RESULT_MAX_BYTES));
  await start();
  await untilRead('v1');

  replace(path, resultWith('v1').padEnd(RESULT_MAX_BYTES + 1));
  await untilRead('it is larger than 1048576 bytes');
});

test('only RFC 3339 times are accepted', () => {
  const validTimes =
    '2026-01-02T03:04:05Z 2026-01-02t03:04:05z 2026-01-02T03:04:05.123456789+02:00 2026-01-02T03:04:05-00:00 ' +
    '2024-02-29T00:00:00Z 2026-12-31T23:59:59Z';
  const invalidTimes =
    '2026-12-31T23:59:61Z 2023-02-29T00:00:00Z 2026-04-31T00:00:00Z 2026-13-01T00:00:00Z 2026-00-01T00:00:00Z ' +
    '2026-01-02T24:00:00Z 2026-01-02T03:60:00Z 2026-01-02T03:04:05 2026-01-02T03:04Z 2026-01-02T03:04:05.Z ' +
    '2026-01-02T03:04:05+24:00 2026-01-02T03:04:05+0200';
  for (const text of validTimes.split(' ')) assert.ok(isRfc3339(text), text);
  const emptyOrSpacedTexts = ['', ' 2026-01-02T03:04:05Z', '2026-01-02T03:04:05Z\n', '2026-01-02 03:04:05Z'];
  for (const text of [...invalidTimes.split(' '), ...emptyOrSpacedTexts]) assert.ok(!isRfc3339(text), text);
});
