// Lines to an output that refuses them: nothing throws, and what was lost is told.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'node:test';
import { LogOutput } from '../../src/supervisor/log-output.js';
import { BLOCKING, fullSocket } from '../tools/full-socket.js';
import { lacks } from '../tools/requirements.js';

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

test('a socket with no room costs the line, and nobody waits', {
  skip: lacks({ programs: ['perl'] }),
}, async () => {
  const { socket, close } = await fullSocket();
  const module = new URL('../../src/supervisor/log-output.js', import.meta.url).href;
  const script = `import { LogOutput, standardOutput } from '${module}';
    const output = new LogOutput(standardOutput());
    for (let line = 0; line < 1000; line += 1) output.write('x'.repeat(1000) + '\\n');`;
  const [program = '', ...before] = [...BLOCKING, process.execPath, '--input-type=module', '-e', script];
  const child = spawn(program, before, { stdio: ['ignore', socket, 'inherit'], timeout: 20_000 });
  assert.deepEqual(await once(child, 'exit'), [0, null]);
  close();
});
