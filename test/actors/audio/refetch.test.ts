// Tests which reads are due after events: of single records, or of the whole list.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BURST_MAX_RECORDS, REMOVALS_MAX_RECORDS, Refetch } from '../../../src/actors/audio/refetch.js';

/**
 * The words of the steps. `event` is the event of a change, and `end` is the event of a removal. `mark`
 * makes one record due, and `all` makes the whole list due. `hold` keeps a record from being read while a
 * command changes it, until `release`. `reply` is the valid reply to the read of one record. `lateReply` is
 * such a reply that a removal has made invalid. `list` is the reply to the read of the list. `listWithout`
 * is such a reply from which this record must be left out.
 */
const ACTIONS: Readonly<Record<string, (refetch: Refetch, index: number) => unknown>> = {
  event: (refetch, index) => refetch.onChanged(index),
  mark: (refetch, index) => refetch.markRecord(index),
  hold: (refetch, index) => refetch.hold(index),
  release: (refetch) => refetch.release(),
  end: (refetch, index) => refetch.onRemoved(index),
  all: (refetch) => refetch.markList(),
  reply: (refetch, index) => assert.equal(refetch.settleRecord(index), true),
  lateReply: (refetch, index) => assert.equal(refetch.settleRecord(index), false),
  list: (refetch) => assert.deepEqual([...refetch.settleList()], []),
  listWithout: (refetch, index) => assert.deepEqual([...refetch.settleList()], [index]),
};

/** A step may end with a colon and the reading that is due then: a record, the `list`, or `-` for none. */
const ROWS: readonly (readonly [what: string, steps: string])[] = [
  [
    'an event during a reading requests no further reading, because the reply is newer',
    'event 1: 1; event 1: -; reply 1: -',
  ],
  ['a record that is marked while it is read is read again', 'event 1: 1; mark 1; mark 1: -; reply 1: 1'],
  ['a record that changed during a failed command is read after it', 'hold 1; event 1: -; release: 1'],
  ['a removal cancels the reading that was due', 'event 1; end 1: -'],
  ['a removal invalidates one reply', 'event 1: 1; end 1; event 1; lateReply 1: 1; reply 1'],
  ['a removal while a list is read is remembered', 'all: list; end 7; listWithout 7; all: list; list'],
  [
    'a list is read only after single records, so that no older record replaces one of the list',
    'event 1: 1; all: -; reply 1: list',
  ],
  ['a record is read after the list that may be older than its event', 'all: list; event 1: -; list: 1'],
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

test('the whole list is read where too many single records would be read', () => {
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

test('one record too many makes the whole list due, also if the other records are being read already', () => {
  const refetch = new Refetch('sink-input');
  for (let index = 0; index < BURST_MAX_RECORDS; index += 1) {
    refetch.markRecord(index);
    assert.deepEqual(dueReadings(refetch), [index]);
  }

  refetch.markRecord(BURST_MAX_RECORDS);
  assert.deepEqual(dueReadings(refetch), []);

  for (let index = 0; index < BURST_MAX_RECORDS; index += 1) refetch.settleRecord(index);
  assert.deepEqual(dueReadings(refetch), ['list']);
});
