// The result file: what of it is believed, and what is said of one that is not.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseResult, RESULT_MAX_BYTES } from '../../../src/actors/upgrade/result-text.js';

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

bad('empty', '', 'it is empty');
bad('half written', `{${GOOD.slice(0, 30)}`, 'it is not a JSON object');
bad('an array', '[]', 'it is not a JSON object');
bad('a missing field', '{"current":"1","upgrade_available":true}', 'it has no latest');
bad('a wrong type', '{"current":1,"latest":"2","upgrade_available":true}', 'current is not a string');
bad('null', '{"current":"1","latest":null,"upgrade_available":true}', 'latest is not a string');
bad(
  'a text for a boolean',
  GOOD.replace('true', '"true"').replace(/^/, '{').concat('}'),
  'upgrade_available is not a boolean',
);
bad('latin-1', Uint8Array.of(0x7b, 0xe9, 0x7d), 'it is not UTF-8');
bad('a byte too many', `{${GOOD}}`.padEnd(RESULT_MAX_BYTES + 1), 'it is larger than 1048576 bytes');
test('good: exactly as large as allowed', () => {
  assert.equal(parseResult(Buffer.from(`{${GOOD}}`.padEnd(RESULT_MAX_BYTES))).ok, true);
});
