// The elements drawn in each turn: by a clock that the test sets, and frames that it makes.

import assert from 'node:assert/strict';
import { afterEach, beforeEach, mock, test } from 'node:test';
import { Turns } from '../../src/page/turns.js';

let frames: (() => void)[] = [];
beforeEach(() => {
  frames = [];
  mock.timers.enable({ apis: ['setTimeout', 'Date'] });
  mock.method(performance, 'now', () => Date.now());
});
afterEach(() => {
  mock.timers.reset();
  mock.restoreAll();
});

/** `note(what, ms)` is a work that takes so long. */
function begin() {
  const turns = new Turns((call) => frames.push(call));
  const done: string[] = [];
  const note =
    (what: string, ms = 0) =>
    (): void => {
      done.push(what);
      mock.timers.setTime(Date.now() + ms);
    };
  return { turns, done, note };
}

test('a task that is requested twice runs once, a frame behind the last', () => {
  const { turns, done, note } = begin();
  const work = note('draw');
  turns.soon(work);
  turns.soon(work);
  assert.deepEqual(done, []);
  mock.timers.tick(17);
  assert.deepEqual(done, ['draw']);
  turns.soon(work);
  mock.timers.tick(10);
  assert.deepEqual(done, ['draw']);
  mock.timers.tick(10);
  assert.deepEqual(done, ['draw', 'draw']);
});

test('a task that another requests runs in the same turn', () => {
  const { turns, done, note } = begin();
  turns.soon(() => turns.soon(note('its children')));
  mock.timers.tick(17);
  assert.deepEqual(done, ['its children']);
});

test('pieces run after the tasks, stop when the turn is long, and continue behind a frame', () => {
  const { turns, done, note } = begin();
  for (const what of ['a', 'b', 'c']) turns.later(note(what, 1));
  const takeBack = turns.later(note('never'));
  takeBack();
  turns.soon(note('due', 1));
  mock.timers.tick(17);
  assert.deepEqual(done, ['due', 'a']);
  mock.timers.tick(100);
  assert.deepEqual(done, ['due', 'a'], 'no frame yet');
  frames.pop()?.();
  mock.timers.tick(17);
  assert.deepEqual(done, ['due', 'a', 'b', 'c']);
  assert.deepEqual(frames, []);
});

test('a slow device draws one piece in each turn', () => {
  const { turns, done, note } = begin();
  for (const what of ['a', 'b', 'c']) turns.later(note(what, 50));
  for (const all of ['a', 'ab', 'abc']) {
    mock.timers.tick(17);
    assert.equal(done.join(''), all);
    frames.pop()?.();
  }
});

test('pieces marked as next come before the others, also those that they request', () => {
  const { turns, done, note } = begin();
  turns.later(note('last'));
  turns.later(() => {
    note('first')();
    turns.later(note('second'), true);
  }, true);
  mock.timers.tick(17);
  assert.deepEqual(done, ['first', 'second', 'last']);
});

test('pieces are drawn in each second turn at least, however many tasks there are', () => {
  const { turns, done, note } = begin();
  for (const what of ['a', 'b']) turns.later(note(what, 50));
  for (const all of ['due', 'due,due,a', 'due,due,a,due', 'due,due,a,due,due,b']) {
    turns.soon(note('due', 50));
    mock.timers.tick(17);
    assert.equal(done.join(), all);
    frames.pop()?.();
  }
});

test('a task that throws stops none behind it', () => {
  const { turns, done, note } = begin();
  turns.soon(() => {
    throw new Error('a defect');
  });
  turns.soon(note('next'));
  assert.throws(() => mock.timers.tick(17), /a defect/);
  mock.timers.tick(17);
  assert.deepEqual(done, ['next']);
});
