// The book of waiting commands: every one is settled once.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Answer } from '../../src/protocol/actor/commands.js';
import { Asks, fault } from '../../src/supervisor/asks.js';

const GONE = fault('unavailable', 'gone');

/** Records which deadlines are armed. */
function book(): { asks: Asks; armed: Set<number>; answers: Answer[]; open: () => number | undefined } {
  const armed = new Set<number>();
  const answers: Answer[] = [];
  const asks = new Asks((id) => {
    armed.add(id);
    return () => armed.delete(id);
  });
  return { asks, armed, answers, open: () => asks.open((answer) => answers.push(answer)) };
}

test('an answer settles its command, once, and disarms its deadline', () => {
  const { asks, armed, answers, open } = book();
  const id = open() ?? 0;
  assert.deepEqual([...armed], [id]);
  asks.settle(id, { ok: true });
  asks.settle(id, GONE);
  assert.deepEqual(answers, [{ ok: true }]);
  assert.equal(armed.size, 0);
});

test('an answer to nobody is ignored', () => {
  const { asks, answers } = book();
  asks.settle(99, { ok: true });
  assert.deepEqual(answers, []);
});

test('all that wait are settled together, and ids are never used again', () => {
  const { asks, armed, answers, open } = book();
  const ids = [open(), open()];
  asks.settleAll(GONE);
  assert.deepEqual(answers, [GONE, GONE]);
  assert.equal(armed.size, 0);
  assert.ok(!ids.includes(open()));
});

test('the 257th is refused at once, and room comes back', () => {
  const { asks, answers, open } = book();
  const first = open() ?? 0;
  for (let count = 2; count <= 256; count += 1) open();
  assert.equal(open(), undefined);
  assert.deepEqual(
    answers.map((answer) => (answer.ok ? '' : answer.fault)),
    ['unavailable'],
  );
  asks.settle(first, { ok: true });
  assert.notEqual(open(), undefined);
});
