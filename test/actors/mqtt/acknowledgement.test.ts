// Tests which topics count as refused after a broker's answer with reason codes, and the text of the reason.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { refusalIn } from '../../../src/actors/mqtt/acknowledgement.js';

const TOPICS = ['a', 'b', 'c'];
const REASON_NAMES = { 135: 'Not authorized', 151: 'Quota exceeded' };

/** The broker sends one code for each topic of `TOPICS`. */
const rows: readonly (readonly [codes: number[], refusedTopics: string[], reason: string])[] = [
  [[1, 135, 1], ['b'], 'Not authorized'],
  [[135, 1, 135], ['a', 'c'], 'Not authorized'],
  [[151, 1, 135], ['a', 'c'], 'Quota exceeded or Not authorized'],
  [[1, 1, 199], ['c'], 'reason code 199'],
];
for (const [codes, refusedTopics, reason] of rows) {
  test(`the codes ${codes.join(', ')} for the topics ${TOPICS} refuse ${refusedTopics.join(' and ')}: ${reason}`, () => {
    const expected = { kind: 'refused', topics: refusedTopics, reason };
    assert.deepEqual(refusalIn(TOPICS, codes, REASON_NAMES), expected);
  });
}

test('codes below 128 refuse no topic', () =>
  assert.equal(refusalIn(['a', 'b'], [0, 2], REASON_NAMES), undefined));
