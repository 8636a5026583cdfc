// One at a time, in order.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SerialQueue } from '../../../src/actors/audio/serial-queue.js';

test('tasks run one after another, in order, also behind one that failed', async () => {
  const queue = new SerialQueue();
  const said: string[] = [];
  const task = (name: string) => async () => {
    said.push(`${name} begins`);
    await Promise.resolve();
    said.push(`${name} ends`);
    return name;
  };
  const first = queue.add(task('first'));
  const failing = queue.add(() => Promise.reject(new Error('no')));
  const last = queue.add(task('last'));
  await assert.rejects(failing, /no/);
  assert.deepEqual([await first, await last], ['first', 'last']);
  assert.deepEqual(said, ['first begins', 'first ends', 'last begins', 'last ends']);
});
