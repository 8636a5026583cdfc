// RFC 3339 times: which are taken.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isRfc3339, utcSeconds } from '../../../src/actors/upgrade/time-text.js';

function check(text: string, expected: boolean): void {
  test(`${JSON.stringify(text)} is ${expected ? 'a' : 'no'} time`, () =>
    assert.equal(isRfc3339(text), expected));
}

check('2026-01-02T03:04:05Z', true);
check('2026-01-02t03:04:05z', true);
check('2026-01-02T03:04:05.123456789+02:00', true);
check('2026-01-02T03:04:05-00:00', true);
check('2024-02-29T00:00:00Z', true);
check('2000-02-29T00:00:00Z', true);
check('2016-12-31T23:59:60Z', true);
check('2017-01-01T00:59:60+01:00', true);
check('2016-12-31T15:59:60-08:00', true);
check('2016-12-31T23:58:60Z', false);
check('2023-02-29T00:00:00Z', false);
check('1900-02-29T00:00:00Z', false);
check('2026-04-31T00:00:00Z', false);
check('2026-13-01T00:00:00Z', false);
check('2026-00-01T00:00:00Z', false);
check('2026-01-02T24:00:00Z', false);
check('2026-01-02T03:60:00Z', false);
check('2026-01-02T03:04:05', false);
check('2026-01-02 03:04:05Z', false);
check('2026-01-02T03:04Z', false);
check('2026-01-02T03:04:05.Z', false);
check('2026-01-02T03:04:05+24:00', false);
check('2026-01-02T03:04:05+0200', false);
check(' 2026-01-02T03:04:05Z', false);
check('2026-01-02T03:04:05Z\n', false);
check('', false);

test('our own times are UTC, in seconds', () => {
  assert.equal(utcSeconds(1_767_323_045_999), '2026-01-02T03:04:05Z');
});
