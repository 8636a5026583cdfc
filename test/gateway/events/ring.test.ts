// The ring: what it still holds, what it has forgotten, and how a stream begins for each.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Beginning, beginning } from '../../../src/gateway/events/resume.js';
import { type Reach, Ring } from '../../../src/gateway/events/ring.js';

function filled(count: number, frameBytes = 1): Ring {
  const ring = new Ring();
  const frame = new Uint8Array(frameBytes);
  for (let sequence = 1; sequence <= count; sequence += 1) ring.push({ sequence, bits: 0, frame });
  return ring;
}

const REACHES: readonly [events: number, after: number, reach: Reach][] = [
  [0, 0, 'replayable'],
  [0, 1, 'future'],
  [1, 0, 'replayable'],
  [1, 1, 'replayable'],
  [1, 2, 'future'],
  [1024, 0, 'replayable'],
  [1025, 0, 'expired'],
  [1025, 1, 'replayable'],
  [3000, 1975, 'expired'],
  [3000, 1976, 'replayable'],
  [3000, 3000, 'replayable'],
  [3000, 3001, 'future'],
];
for (const [events, after, reach] of REACHES) {
  test(`after ${events} events, resuming after ${after} is ${reach}`, () => {
    const ring = filled(events);
    assert.equal(ring.reach(after), reach);
    if (reach !== 'replayable') return;
    for (let sequence = after + 1; sequence <= events; sequence += 1) {
      assert.equal(ring.get(sequence)?.sequence, sequence);
    }
    assert.equal(ring.get(events + 1), undefined);
  });
}

test('huge events push out older ones before there are 1024', () => {
  const ring = filled(100, 130 * 1024);
  assert.ok(ring.bytes <= 8 * 1024 * 1024);
  assert.equal(ring.reach(0), 'expired');
  assert.equal(ring.reach(50), 'replayable');
  assert.equal(ring.get(36), undefined);
});

test('1024 events of 8 kB are all held', () => {
  assert.equal(filled(1024, 8 * 1024).reach(0), 'replayable');
});

const BEGINNINGS: readonly [snapshot: boolean, id: string | undefined, expected: Beginning][] = [
  [false, undefined, { from: 'live' }],
  [true, undefined, { from: 'snapshot' }],
  [false, 'b-3000', { from: 'replay', after: 3000 }],
  [false, 'b-1976', { from: 'replay', after: 1976 }],
  [true, 'b-1976', { from: 'replay', after: 1976 }],
  [false, 'b-1975', { from: 'snapshot', after: 1975 }],
  [true, 'b-1975', { from: 'snapshot', after: 1975 }],
  [false, 'b-0', { from: 'snapshot', after: 0 }],
  [false, 'b-3001', { from: 'snapshot' }],
  [false, 'other-2999', { from: 'snapshot' }],
  [true, 'other-2999', { from: 'snapshot' }],
  [false, 'rubbish', { from: 'snapshot' }],
];
test('a client that has a part of a snapshot only is given one, also while everything could be replayed', () => {
  const query = { snapshot: false, lastEventId: 'b-0' };
  assert.deepEqual(beginning(query, 'b', filled(3)), { from: 'snapshot', after: 0 });
});

for (const [snapshot, lastEventId, expected] of BEGINNINGS) {
  test(`at b-3000, ${lastEventId ?? 'no id'}${snapshot ? ' and snapshot=1' : ''} begins ${expected.from}`, () => {
    const query = lastEventId === undefined ? { snapshot } : { snapshot, lastEventId };
    assert.deepEqual(beginning(query, 'b', filled(3000)), expected);
  });
}
