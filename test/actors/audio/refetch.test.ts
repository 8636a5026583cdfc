// What events make dirty, and what is read for it.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  BURST_MAX_RECORDS,
  REMOVALS_MAX_RECORDS,
  type Read,
  Refetch,
} from '../../../src/actors/audio/refetch.js';

const SINK_1: Read = { what: 'one', of: 'sink', index: 1 };
const INPUT_1: Read = { what: 'one', of: 'input', index: 1 };
const INPUT_LIST: Read = { what: 'list', of: 'input' };
const SINK_LIST: Read = { what: 'list', of: 'sink' };
const SERVER: Read = { what: 'server' };

describe('after an event', () => {
  test('the record that it names is read, once', () => {
    const refetch = new Refetch();
    refetch.markChanged('input', 1);
    refetch.markChanged('input', 1);
    refetch.markChanged('sink', 1);
    refetch.markServer();
    assert.deepEqual(refetch.take(), [SERVER, SINK_1, INPUT_1]);
    assert.deepEqual(refetch.take(), []);
  });

  test('that comes while the record is being read, it is read again', () => {
    const refetch = new Refetch();
    refetch.markChanged('input', 1);
    refetch.take();
    for (let event = 0; event < 100; event += 1) refetch.markChanged('input', 1);
    assert.deepEqual(refetch.take(), []);
    assert.equal(refetch.settleOne('input', 1), true);
    assert.deepEqual(refetch.take(), [INPUT_1]);
  });

  test('that comes while the server is being read, it is read again', () => {
    const refetch = new Refetch();
    refetch.markServer();
    refetch.take();
    refetch.markServer();
    assert.deepEqual(refetch.take(), []);
    refetch.settleServer();
    assert.deepEqual(refetch.take(), [SERVER]);
  });
});

describe('a removal', () => {
  test('takes back what was to be read', () => {
    const refetch = new Refetch();
    refetch.markChanged('input', 1);
    refetch.markRemoved('input', 1);
    assert.deepEqual(refetch.take(), []);
  });

  test('makes the reply that is under way unbelievable, but not the next one', () => {
    const refetch = new Refetch();
    refetch.markChanged('input', 1);
    refetch.take();
    refetch.markRemoved('input', 1);
    refetch.markChanged('input', 1);
    assert.equal(refetch.settleOne('input', 1), false);
    assert.deepEqual(refetch.take(), [INPUT_1]);
    assert.equal(refetch.settleOne('input', 1), true);
  });

  test('while a list is under way is remembered until it comes', () => {
    const refetch = new Refetch();
    refetch.markList('input');
    refetch.take();
    refetch.markRemoved('input', 7);
    assert.deepEqual([...refetch.settleList('input')], [7]);
    refetch.markList('input');
    refetch.take();
    assert.deepEqual([...refetch.settleList('input')], []);
  });

  test('beyond the bound has the list read again', () => {
    const refetch = new Refetch();
    refetch.markList('input');
    refetch.take();
    for (let index = 0; index <= REMOVALS_MAX_RECORDS; index += 1) refetch.markRemoved('input', index);
    assert.equal(refetch.settleList('input').size, REMOVALS_MAX_RECORDS);
    assert.deepEqual(refetch.take(), [INPUT_LIST]);
  });
});

describe('a list', () => {
  test('is read instead of many records', () => {
    const refetch = new Refetch();
    for (let index = 0; index <= BURST_MAX_RECORDS; index += 1) refetch.markChanged('input', index);
    assert.deepEqual(refetch.take(), [INPUT_LIST]);
    refetch.settleList('input');
    assert.deepEqual(refetch.take(), []);
  });

  test('is not read for as many records as are allowed', () => {
    const refetch = new Refetch();
    for (let index = 0; index < BURST_MAX_RECORDS; index += 1) refetch.markChanged('input', index);
    assert.equal(refetch.take().length, BURST_MAX_RECORDS);
  });

  test('waits for single reads, so that none of them can undo it', () => {
    const refetch = new Refetch();
    refetch.markChanged('input', 1);
    refetch.take();
    refetch.markList('input');
    assert.deepEqual(refetch.take(), []);
    refetch.settleOne('input', 1);
    assert.deepEqual(refetch.take(), [INPUT_LIST]);
  });

  test('keeps single reads waiting: it may be older than the event', () => {
    const refetch = new Refetch();
    refetch.markList('input');
    refetch.take();
    refetch.markChanged('input', 1);
    assert.deepEqual(refetch.take(), []);
    refetch.settleList('input');
    assert.deepEqual(refetch.take(), [INPUT_1]);
  });

  test('that is wanted while one is under way is read again', () => {
    const refetch = new Refetch();
    refetch.markAll();
    assert.deepEqual(refetch.take(), [SERVER, SINK_LIST, INPUT_LIST]);
    refetch.markAll();
    assert.deepEqual(refetch.take(), []);
    refetch.settleServer();
    refetch.settleList('sink');
    refetch.settleList('input');
    assert.deepEqual(refetch.take(), [SERVER, SINK_LIST, INPUT_LIST]);
  });
});

test('records that are being read count towards a burst', () => {
  const refetch = new Refetch();
  for (let index = 0; index < BURST_MAX_RECORDS; index += 1) {
    refetch.markChanged('input', index);
    assert.equal(refetch.take().length, 1);
  }
  refetch.markChanged('input', 1000);
  assert.deepEqual(refetch.take(), []);
  for (let index = 0; index < BURST_MAX_RECORDS; index += 1) refetch.settleOne('input', index);
  assert.deepEqual(refetch.take(), [INPUT_LIST]);
});
