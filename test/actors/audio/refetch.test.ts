// What events make dirty, and what is read for it.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  BURST_MAX_RECORDS,
  REMOVALS_MAX_RECORDS,
  type Read,
  Refetch,
} from '../../../src/actors/audio/refetch.js';

const ONE: Read = { of: 'input', index: 1 };
const LIST: Read = { of: 'input' };

describe('after an event', () => {
  test('the record that it names is read, once', () => {
    const refetch = new Refetch('input');
    refetch.mark(1);
    refetch.mark(1);
    assert.deepEqual(refetch.take(), [ONE]);
    assert.deepEqual(refetch.take(), []);
  });

  test('that comes while the record is being read, it is read again', () => {
    const refetch = new Refetch('input');
    refetch.mark(1);
    refetch.take();
    for (let event = 0; event < 100; event += 1) refetch.mark(1);
    assert.deepEqual(refetch.take(), []);
    assert.equal(refetch.settleOne(1), true);
    assert.deepEqual(refetch.take(), [ONE]);
  });
});

describe('a removal', () => {
  test('takes back what was to be read', () => {
    const refetch = new Refetch('input');
    refetch.mark(1);
    refetch.markRemoved(1);
    assert.deepEqual(refetch.take(), []);
  });

  test('makes the reply that is under way unbelievable, but not the next one', () => {
    const refetch = new Refetch('input');
    refetch.mark(1);
    refetch.take();
    refetch.markRemoved(1);
    refetch.mark(1);
    assert.equal(refetch.settleOne(1), false);
    assert.deepEqual(refetch.take(), [ONE]);
    assert.equal(refetch.settleOne(1), true);
  });

  test('while a list is under way is remembered until it comes', () => {
    const refetch = new Refetch('input');
    refetch.markAll();
    refetch.take();
    refetch.markRemoved(7);
    assert.deepEqual([...refetch.settleList()], [7]);
    refetch.markAll();
    refetch.take();
    assert.deepEqual([...refetch.settleList()], []);
  });

  test('beyond the bound has the list read again', () => {
    const refetch = new Refetch('input');
    refetch.markAll();
    refetch.take();
    for (let index = 0; index <= REMOVALS_MAX_RECORDS; index += 1) refetch.markRemoved(index);
    assert.equal(refetch.settleList().size, REMOVALS_MAX_RECORDS);
    assert.deepEqual(refetch.take(), [LIST]);
  });
});

describe('a list', () => {
  test('is read instead of many records', () => {
    const refetch = new Refetch('input');
    for (let index = 0; index <= BURST_MAX_RECORDS; index += 1) refetch.mark(index);
    assert.deepEqual(refetch.take(), [LIST]);
    refetch.settleList();
    assert.deepEqual(refetch.take(), []);
  });

  test('is not read for as many records as are allowed', () => {
    const refetch = new Refetch('input');
    for (let index = 0; index < BURST_MAX_RECORDS; index += 1) refetch.mark(index);
    assert.equal(refetch.take().length, BURST_MAX_RECORDS);
  });

  test('waits for single reads, so that none of them can undo it', () => {
    const refetch = new Refetch('input');
    refetch.mark(1);
    refetch.take();
    refetch.markAll();
    assert.deepEqual(refetch.take(), []);
    refetch.settleOne(1);
    assert.deepEqual(refetch.take(), [LIST]);
  });

  test('keeps single reads waiting: it may be older than the event', () => {
    const refetch = new Refetch('input');
    refetch.markAll();
    refetch.take();
    refetch.mark(1);
    assert.deepEqual(refetch.take(), []);
    refetch.settleList();
    assert.deepEqual(refetch.take(), [ONE]);
  });

  test('that is wanted while one is under way is read again', () => {
    const refetch = new Refetch('input');
    refetch.markAll();
    assert.deepEqual(refetch.take(), [LIST]);
    refetch.markAll();
    assert.deepEqual(refetch.take(), []);
    refetch.settleList();
    assert.deepEqual(refetch.take(), [LIST]);
  });
});

test('records that are being read count towards a burst', () => {
  const refetch = new Refetch('input');
  for (let index = 0; index < BURST_MAX_RECORDS; index += 1) {
    refetch.mark(index);
    assert.equal(refetch.take().length, 1);
  }
  refetch.mark(1000);
  assert.deepEqual(refetch.take(), []);
  for (let index = 0; index < BURST_MAX_RECORDS; index += 1) refetch.settleOne(index);
  assert.deepEqual(refetch.take(), [LIST]);
});
