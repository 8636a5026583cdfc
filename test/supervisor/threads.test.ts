// The report of a thread's death is one line, whatever was thrown.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deathOf } from '../../src/supervisor/threads.js';

const OUT_OF_MEMORY = Object.assign(new Error('Worker terminated due to reaching memory limit'), {
  code: 'ERR_WORKER_OUT_OF_MEMORY',
});

const ROWS: readonly [error: unknown, reason: string][] = [
  [new Error('boom'), 'boom'],
  [new Error('first\nsecond'), 'first'],
  [new TypeError(''), 'TypeError'],
  [new Error('worker exited with code: 7'), 'exit code 7'],
  [OUT_OF_MEMORY, 'out of memory'],
  ['a string', 'threw a string'],
  [undefined, 'threw undefined'],
  [{ an: 'object' }, 'threw [object Object]'],
  [new Error('x'.repeat(500)), `${'x'.repeat(200)}...`],
];

for (const [error, reason] of ROWS) {
  test(`${String(error).slice(0, 60)}: ${reason.slice(0, 30)}`, () => {
    assert.equal(deathOf(error).reason, reason);
  });
}

test('the stack is kept for the log', () => {
  assert.match(deathOf(new Error('boom')).stack ?? '', /Error: boom\n/);
});
