// Tests `Refetch`. It decides after events whether single records or the whole list must be read.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BURST_MAX_RECORDS, REMOVALS_MAX_RECORDS, Refetch } from '../../../src/actors/audio/refetch.js';

/** The steps of `ROWS`, by the word with which a step begins. */
const ACTIONS: Readonly<Record<string, (refetch: Refetch, index: number) => unknown>> = {
  /** The event of a change. */
  event: (refetch, index) => refetch.onChanged(index),
  /** The event of a removal. */
  removal: (refetch, index) => refetch.onRemoved(index),
  /** Unlike an event, it makes a record due even while this record is read. */
  mark: (refetch, index) => refetch.markRecord(index),
  markList: (refetch) => refetch.markList(),
  /** Keeps a record from being read while a command changes it, until `release`. */
  hold: (refetch, index) => refetch.hold(index),
  /** It needs no index, because at most one record is kept from being read. */
  release: (refetch) => refetch.release(),
  reply: (refetch, index) => assert.equal(refetch.settleRecord(index), true),
  /** A removal has made this reply invalid. */
  invalidReply: (refetch, index) => assert.equal(refetch.settleRecord(index), false),
  listReply: (refetch) => assert.deepEqual([...refetch.settleList()], []),
  /** This record must be left out of the list. */
  listReplyWithout: (refetch, index) => assert.deepEqual([...refetch.settleList()], [index]),
};

/**
 * A step is a word of `ACTIONS`, mostly with the index of a record. The text after a colon is the reading
 * that is due after the step: an index, `list`, or `-` for none.
 */
const ROWS: readonly (readonly [what: string, steps: string])[] = [
  [
    'an event about a record that is being read requests no further reading, because the reply is newer than the event',
    'event 1: 1; event 1: -; reply 1: -',
  ],
  ['a record that is marked during its reading is read again', 'event 1: 1; mark 1; mark 1: -; reply 1: 1'],
  ['a record that changes during a command is read after the command', 'hold 1; event 1: -; release: 1'],
  ['a removal cancels the reading that was due', 'event 1; removal 1: -'],
  [
    'a removal during a reading invalidates the reply to this reading, but not the next reply',
    'event 1: 1; removal 1; event 1; invalidReply 1: 1; reply 1',
  ],
  [
    'a record that is removed during the reading of a list is left out of this list, but not of the next list',
    'markList: list; removal 7; listReplyWithout 7; markList: list; listReply',
  ],
  [
    'a list is read only after the readings of single records, so that no older record replaces a record of the list',
    'event 1: 1; markList: -; reply 1: list',
  ],
  // A list may be older than an event that comes during its reading, unlike the reply about a single record.
  [
    'a record is read after the list if its event came during the reading of the list',
    'markList: list; event 1: -; listReply: 1',
  ],
];

function dueReadings(refetch: Refetch): (number | 'list')[] {
  const requests = refetch.takeDue();
  assert.ok(requests.every(({ kind }) => kind === 'sink-input'));
  return requests.map(({ index }) => index ?? 'list');
}

for (const [what, steps] of ROWS) {
  test(what, () => {
    const refetch = new Refetch('sink-input');
    for (const step of steps.split('; ')) {
      const [action = '', expected] = step.split(': ');
      const [word = '', index] = action.split(' ');
      const act = ACTIONS[word] ?? assert.fail(`no such step: ${step}`);
      act(refetch, Number(index));
      if (expected !== undefined) assert.equal(dueReadings(refetch).join() || '-', expected, step);
    }
  });
}

test('the list is read again if more records were removed than can be remembered', () => {
  const refetch = new Refetch('sink-input');
  refetch.markList();
  // The reading of the list begins.
  refetch.takeDue();

  for (let index = 0; index <= REMOVALS_MAX_RECORDS; index += 1) refetch.onRemoved(index);

  assert.equal(refetch.settleList().size, REMOVALS_MAX_RECORDS);
  assert.deepEqual(dueReadings(refetch), ['list']);
});

test('the whole list is read if too many single records are due', () => {
  const records = Array.from({ length: BURST_MAX_RECORDS }, (_, index) => index);
  const refetch = new Refetch('sink-input');
  for (const index of records) refetch.markRecord(index);
  assert.deepEqual(dueReadings(refetch), records);
  assert.deepEqual(dueReadings(refetch), []);

  const refetchOfMore = new Refetch('sink-input');
  for (const index of records) refetchOfMore.markRecord(index);
  refetchOfMore.markRecord(BURST_MAX_RECORDS);
  assert.deepEqual(dueReadings(refetchOfMore), ['list']);
  // While the list is being read, nothing is due. So the reading must end before the next check.
  refetchOfMore.settleList();
  assert.deepEqual(dueReadings(refetchOfMore), []);
});

test('one record too many makes the whole list due, even if the other records are being read already', () => {
  const refetch = new Refetch('sink-input');
  for (let index = 0; index < BURST_MAX_RECORDS; index += 1) {
    refetch.markRecord(index);
    assert.deepEqual(dueReadings(refetch), [index]);
  }

  refetch.markRecord(BURST_MAX_RECORDS);
  // The list is due, but it is read only after the readings of single records have ended.
  assert.deepEqual(dueReadings(refetch), []);

  for (let index = 0; index < BURST_MAX_RECORDS; index += 1) refetch.settleRecord(index);
  assert.deepEqual(dueReadings(refetch), ['list']);
});
