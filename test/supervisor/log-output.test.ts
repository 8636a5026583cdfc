// Lines to an output that refuses them: nothing throws, and a line reports how many were lost.

import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants, mkdtempSync, openSync, rmSync } from 'node:fs';
import { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { LogOutput } from '../../src/supervisor/log.js';
import { lacks } from '../tools/requirements.js';

test('lines that are refused are counted, and the count is logged when there is room again', () => {
  const taken: string[] = [];
  let room = true;
  const output = new LogOutput((bytes) => {
    if (!room) throw new Error('ENOSPC');
    taken.push(Buffer.from(bytes).toString());
    return bytes.length;
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

test('a line that was accepted in part is completed before the next one, byte by byte if need be', () => {
  let taken = '';
  let room = 4;
  const output = new LogOutput((bytes) => {
    if (room === 0) throw new Error('EAGAIN');
    const part = bytes.subarray(0, room);
    room -= part.length;
    taken += Buffer.from(part).toString('latin1');
    return part.length;
  });
  // Two bytes per letter: what counts is bytes.
  output.write('äöü\n');
  output.write('lost, for the line before is still owed\n');
  room = 2;
  output.write('lost, for it is owed still\n');
  room = 1000;
  output.write('next\n');
  const owed = Buffer.from('äöü\n').toString('latin1');
  assert.equal(taken, `${owed}{"level":"warn","lost":2,"msg":"log lines were lost"}\nnext\n`);
});

const MODULE = new URL('../../src/supervisor/log.js', import.meta.url).href;

/** Writes long lines until one is refused, and then a short one for every byte of its standard input. */
const FILL = `import { LogOutput, standardOutput } from '${MODULE}';
  const write = standardOutput();
  let refused = false;
  const output = new LogOutput((bytes) => {
    try {
      return write(bytes);
    } catch (error) {
      refused = true;
      throw error;
    }
  });
  while (!refused) output.write('x'.repeat(99_999) + '\\n');
  process.stderr.write('full');
  process.stdin.on('data', () => output.write('short\\n'));`;

// With a socket, as journald's: test/contract/program.test.ts.
test('a slow reader of a pipe gets whole lines', { skip: lacks({ programs: ['mkfifo'] }) }, async (t) => {
  const { input, output, close } = openPipe();
  t.after(close);
  const child = spawn(process.execPath, ['--input-type=module', '-e', FILL], {
    stdio: ['pipe', input, 'pipe'],
    timeout: 20_000,
  });
  const { stdin, stderr } = child;
  await once(stderr ?? assert.fail('no standard error'), 'data');
  let text = '';
  output.setEncoding('utf8').on('data', (part: string) => {
    text += part;
    // After each read there is room for one more.
    if (text.endsWith('\nshort\n')) stdin?.end();
    else if (stdin?.writable) stdin.write('.');
  });
  assert.deepEqual(await once(child, 'exit'), [0, null]);
  const broken = text.split('\n').filter((line) => !/^(x{99999}|short|\{.*lines were lost"\})?$/.test(line));
  assert.deepEqual(broken, []);
});

/** A named pipe: `input` is a descriptor for its writer, `output` reads from it. */
function openPipe(): { readonly input: number; readonly output: Socket; close(): void } {
  const directory = mkdtempSync(join(tmpdir(), 'tonearm-pipe-'));
  const path = join(directory, 'pipe');
  execFileSync('mkfifo', [path]);
  const output = new Socket({
    fd: openSync(path, constants.O_RDONLY | constants.O_NONBLOCK),
    readable: true,
  });
  const input = openSync(path, 'w');
  return {
    input,
    output,
    close: () => {
      output.destroy();
      closeSync(input);
      rmSync(directory, { recursive: true });
    },
  };
}
