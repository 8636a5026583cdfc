// Lines to an output that refuses them: nothing throws, and what was lost is told.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LogOutput } from '../../src/supervisor/log-output.js';

test('lines that are refused are counted, and the count is told when there is room again', () => {
  const taken: string[] = [];
  let room = true;
  const output = new LogOutput((text) => {
    if (!room) throw new Error('ENOSPC');
    taken.push(text);
    return text.length;
  });
  output.write('one\n');
  room = false;
  output.write('two\n');
  output.write('three\n');
  room = true;
  output.write('four\n');
  output.write('five\n');
  assert.deepEqual(taken, [
    'one\n',
    '{"level":"warn","lost":2,"msg":"log lines were lost"}\n',
    'four\n',
    'five\n',
  ]);
});
