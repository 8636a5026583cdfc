// How the reason codes of the broker's answer become the refusal of single topics.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { refusalIn } from '../../../src/actors/mqtt/acknowledgement.js';

const NAMES = { 135: 'Not authorized', 151: 'Quota exceeded' };

const rows: readonly (readonly [codes: number[], topics: string[], reason: string])[] = [
  [[1, 135, 1], ['b'], 'Not authorized'],
  [[135, 1, 135], ['a', 'c'], 'Not authorized'],
  [[151, 1, 135], ['a', 'c'], 'Quota exceeded or Not authorized'],
  [[1, 1, 199], ['c'], 'reason code 199'],
];
for (const [codes, topics, reason] of rows) {
  test(`the codes ${codes.join(', ')} refuse ${topics.join(' and ')}: ${reason}`, () =>
    assert.deepEqual(refusalIn(['a', 'b', 'c'], codes, NAMES), { kind: 'refused', topics, reason }));
}

test('codes below 128 refuse no topic', () => assert.equal(refusalIn(['a', 'b'], [0, 2], NAMES), undefined));
