// The rings: what they still hold, what they have forgotten, and how a stream begins for each.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { FramedEvent } from '../../../src/gateway/events/event.js';
import { bitsOf, filterOf, parseEventQuery } from '../../../src/gateway/events/query.js';
import { History, Replay, Ring } from '../../../src/gateway/events/ring.js';
import { type Beginning, beginning } from '../../../src/gateway/events/snapshot.js';

const MIB = 1024 * 1024;

function event(sequence: number, frameBytes = 1): FramedEvent {
  return { sequence, bits: 0, frame: new Uint8Array(frameBytes), entries: [] };
}

/** Its events are the multiples of `step`. */
function filled(count: number, frameBytes = 1, step = 1): Ring {
  const ring = new Ring(8 * MIB);
  for (let at = 1; at <= count; at += 1) ring.push(event(at * step, frameBytes));
  return ring;
}

const REACHES: readonly [events: number, after: number, reaches: boolean][] = [
  [0, 0, true],
  [1, 0, true],
  [1, 1, true],
  [1024, 0, true],
  [1025, 0, false],
  [1025, 1, true],
  [3000, 1975, false],
  [3000, 1976, true],
  [3000, 3000, true],
];
for (const [events, after, reaches] of REACHES) {
  for (const step of [1, 7]) {
    test(`after ${events} events, one in ${step}, those after ${after * step} are ${reaches ? 'held' : 'not all held'}`, () => {
      const ring = filled(events, 1, step);
      assert.equal(ring.reaches(after * step), reaches);
      if (after > 0)
        assert.equal(ring.reaches(after * step - 1), reaches && ring.reaches((after - 1) * step));
      const first = Math.max(after, events - 1024);
      for (let at = first; at < events; at += 1) {
        assert.equal(ring.next(at * step)?.sequence, (at + 1) * step);
        assert.equal(ring.next((at + 1) * step - 1)?.sequence, (at + 1) * step);
      }
      assert.equal(ring.next(events * step), undefined);
    });
  }
}

test('huge events push out older ones before there are 1024', () => {
  const ring = filled(100, 130 * 1024);
  assert.ok(ring.bytes <= 8 * MIB);
  assert.equal(ring.reaches(0), false);
  assert.equal(ring.reaches(50), true);
  assert.equal(ring.next(0)?.sequence, 38);
});

test('an event that is larger than the ring is not held', () => {
  const ring = filled(3, 9 * MIB);
  assert.equal(ring.bytes, 0);
  assert.equal(ring.next(0), undefined);
  assert.equal(ring.reaches(2), false);
  assert.equal(ring.reaches(3), true);
});

test('1024 events of 8 kB are all held', () => {
  assert.equal(filled(1024, 8 * 1024).reaches(0), true);
});

const ACTION = bitsOf('power.action', 'power');
const STATE = bitsOf('audio.updated', 'audio');
const ALL = filterOf(() => true);

for (const [what, bits, at] of [
  ['states', STATE, 0],
  ['actions', ACTION, 1],
] as const) {
  test(`of ${what} 4 MiB are kept, and not a byte more`, () => {
    const history = new History();
    for (let sequence = 1; sequence <= 4; sequence += 1) history.push({ ...event(sequence, MIB), bits });
    const ring = history.ringsFor(ALL)[at];
    assert.equal(ring?.reaches(0), true);
    history.push({ ...event(5), bits });
    assert.equal(ring?.reaches(0), false);
  });
}

/** A history of so many events, of which every tenth is an action. */
function historyOf(count: number): History {
  const history = new History();
  for (let sequence = 1; sequence <= count; sequence += 1) {
    const frame = Buffer.from(`${sequence} `);
    const bits = sequence % 10 === 0 ? ACTION : STATE;
    history.push({ ...event(sequence), frame, bits });
  }
  return history;
}

test('actions have a ring of their own', () => {
  const history = historyOf(10_241);
  assert.equal(history.newest, 10_241);
  const [states, actions] = history.ringsFor(ALL);
  assert.equal(actions?.next(0)?.sequence, 10);
  assert.equal(states?.next(0)?.sequence, 9104);
  const told = history.actionsAfter(10_200).map(({ sequence }) => sequence);
  assert.deepEqual(told, [10_210, 10_220, 10_230, 10_240]);
  assert.deepEqual(history.ringsFor(bitsOf('upgrade.progress', 'upgrade')).length, 1);
  assert.deepEqual(history.ringsFor(bitsOf('backend.updated', 'power')).length, 1);
  assert.deepEqual(history.ringsFor(0), []);
});

test('a replay tells states and actions in the order in which they happened', () => {
  const replay = new Replay(historyOf(31), ALL, 7);
  assert.equal(String(replay.take()), Array.from({ length: 24 }, (_, at) => `${at + 8} `).join(''));
  assert.equal(replay.take(), undefined);
});

/** The newest is 30 000: states are held after 28 862, actions after 19 760. */
const BEGINNINGS: readonly [query: string, id: string | undefined, expected: Beginning][] = [
  ['', undefined, { from: 'live' }],
  ['snapshot=1', undefined, { from: 'snapshot' }],
  ['', 'b-30000', { from: 'replay', after: 30_000 }],
  ['', 'b-28863', { from: 'replay', after: 28_863 }],
  ['snapshot=1', 'b-28863', { from: 'replay', after: 28_863 }],
  ['', 'b-28861', { from: 'snapshot', after: { states: 28_861, actions: 28_861 } }],
  ['snapshot=1', 'b-28861', { from: 'snapshot', after: { states: 28_861, actions: 28_861 } }],
  ['types=audio.updated', 'b-28861', { from: 'snapshot', after: { states: 28_861, actions: 28_861 } }],
  ['types=upgrade.progress', 'b-19760', { from: 'replay', after: 19_760 }],
  ['types=upgrade.progress', 'b-19759', { from: 'snapshot', after: { states: 19_759, actions: 19_759 } }],
  ['types=nothing.known', 'b-1', { from: 'replay', after: 1 }],
  ['', 'b-28000.30000', { from: 'snapshot', after: { states: 28_000, actions: 30_000 } }],
  ['', 'b-29999.30000', { from: 'snapshot', after: { states: 29_999, actions: 30_000 } }],
  ['', 'b-0', { from: 'snapshot', after: { states: 0, actions: 0 } }],
  ['', 'b-0.29990', { from: 'snapshot', after: { states: 0, actions: 29_990 } }],
  ['', 'b-30001', { from: 'snapshot' }],
  ['', 'b-0.30001', { from: 'snapshot' }],
  ['', 'other-29999', { from: 'snapshot' }],
  ['snapshot=1', 'other-29999', { from: 'snapshot' }],
  ['', 'rubbish', { from: 'snapshot' }],
];
const history = historyOf(30_000);
for (const [text, lastEventId, expected] of BEGINNINGS) {
  test(`at b-30000, ?${text} with ${lastEventId ?? 'no id'} begins ${expected.from}`, () => {
    const parsed = parseEventQuery(text, lastEventId);
    assert.ok(parsed.ok);
    assert.deepEqual(beginning(parsed.query, 'b', history), expected);
  });
}

test('a client that has a part of a snapshot only is given one, also while everything could be replayed', () => {
  const parsed = parseEventQuery('', 'b-0.3');
  assert.ok(parsed.ok);
  assert.equal(beginning(parsed.query, 'b', historyOf(3)).from, 'snapshot');
});
