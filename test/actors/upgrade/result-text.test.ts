// The text of the result file: the accepted members and their spelling, and the reported problem of a bad one.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isRfc3339, parseResult, RESULT_MAX_BYTES } from '../../../src/actors/upgrade/result-file.js';

const GOOD = '"current":"1","latest":"2","upgrade_available":true';

function good(text: string, body: string): void {
  test(`good: ${text.slice(0, 70)}`, () => {
    assert.deepEqual(parseResult(Buffer.from(text)), { ok: true, body });
  });
}

function bad(what: string, bytes: string | Uint8Array, problem: string): void {
  test(`bad: ${what}`, () => {
    assert.deepEqual(parseResult(Buffer.from(bytes)), { ok: false, problem });
  });
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
extra('"10":1,"2":2,"1":3', '"10":1,"2":2,"1":3');
extra(
  '"a":{"b":[1, 2, {"c": "}],{"}]},"d":"x, \\"y\\" }"',
  '"a":{"b":[1,2,{"c":"}],{"}]},"d":"x, \\"y\\" }"',
);
extra('"__proto__":1,"constructor":[]', '"__proto__":1,"constructor":[]');
extra('"\\u0061":1,"a":2', '"a":2');
extra('"$":"#1","#":"$x"', '"$":"#1","#":"$x"');
extra('"a":"\\\\","b":"\\\\\\""', '"a":"\\\\","b":"\\\\\\""');
extra('"a":"\u2028\u00e9\ud83d\ude00"', '"a":"\u2028\u00e9\ud83d\ude00"');
extra('\n "a b" :\t[ 1 ,\r\n"  \\" \\\\" ] ', '"a b":[1,"  \\" \\\\"]');

test('escapes or plain text of the largest size are read', () => {
  const half = RESULT_MAX_BYTES / 2 - 50;
  for (const value of [
    `"${'\\n'.repeat(half)}"`,
    `"${'x'.repeat(2 * half)}"`,
    `[${'1, '.repeat(half / 2)}1]`,
  ]) {
    const result = parseResult(Buffer.from(`{${GOOD},"a":${value}}`));
    assert.equal(result.ok && result.body, `${GOOD},"extra":{"a":${value.replaceAll(' ', '')}}`);
  }
});

bad('empty', '', 'it is empty');
bad('half written', `{${GOOD.slice(0, 30)}`, 'it is not a JSON object');
bad('an array', '[]', 'it is not a JSON object');
bad('a missing field', '{"current":"1","upgrade_available":true}', 'it has no latest');
bad('a wrong type', '{"current":1,"latest":"2","upgrade_available":true}', 'current is not a string');
for (const text of ['"{}"', 'null', `{${GOOD}`, `{${GOOD}}x`]) bad(text, text, 'it is not a JSON object');
bad('null', '{"current":"1","latest":null,"upgrade_available":true}', 'latest is not a string');
bad(
  'a text for a boolean',
  GOOD.replace('true', '"true"').replace(/^/, '{').concat('}'),
  'upgrade_available is not a boolean',
);
bad('deep', `{${GOOD},"a":${'['.repeat(100_000)}${']'.repeat(100_000)}}`, 'it is nested too deeply');
bad('a number that JSON does not have', `{${GOOD},"a":01}`, 'it is not a JSON object');
bad('latin-1', Uint8Array.of(0x7b, 0xe9, 0x7d), 'it is not UTF-8');
bad('a byte too many', `{${GOOD}}`.padEnd(RESULT_MAX_BYTES + 1), 'it is larger than 1048576 bytes');
test('good: exactly the largest size', () => {
  assert.equal(parseResult(Buffer.from(`{${GOOD}}`.padEnd(RESULT_MAX_BYTES))).ok, true);
});

test('only RFC 3339 times are accepted', () => {
  const times = {
    '2026-01-02T03:04:05Z': true,
    '2026-01-02t03:04:05z': true,
    '2026-01-02T03:04:05.123456789+02:00': true,
    '2026-01-02T03:04:05-00:00': true,
    '2024-02-29T00:00:00Z': true,
    '2000-02-29T00:00:00Z': true,
    '2026-12-31T23:59:59Z': true,
    '2026-12-31T23:59:61Z': false,
    '2023-02-29T00:00:00Z': false,
    '1900-02-29T00:00:00Z': false,
    '2026-04-31T00:00:00Z': false,
    '2026-13-01T00:00:00Z': false,
    '2026-00-01T00:00:00Z': false,
    '2026-01-02T24:00:00Z': false,
    '2026-01-02T03:60:00Z': false,
    '2026-01-02T03:04:05': false,
    '2026-01-02 03:04:05Z': false,
    '2026-01-02T03:04Z': false,
    '2026-01-02T03:04:05.Z': false,
    '2026-01-02T03:04:05+24:00': false,
    '2026-01-02T03:04:05+0200': false,
    ' 2026-01-02T03:04:05Z': false,
    '2026-01-02T03:04:05Z\n': false,
    '': false,
  };
  for (const [text, expected] of Object.entries(times)) assert.equal(isRfc3339(text), expected, text);
});
