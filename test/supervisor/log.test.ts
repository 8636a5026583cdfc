// Tests the lines of the log, for journald and for a terminal. If the output refuses lines, nothing throws,
// and a later line reports how many lines were lost.

import assert from 'node:assert/strict';
import { type StdioOptions, spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { CHILD_NAMES } from '../../src/protocol/actor/backends.js';
import { createLogger, LogOutput, terminalLine } from '../../src/supervisor/log.js';
import { fullPipe } from '../tools/full-socket.js';
import { skipReason } from '../tools/requirements.js';
import { DEADLINE_MS } from '../until.js';

function collectingSink(): { lines: Record<string, unknown>[]; write: (line: string) => void } {
  const lines: Record<string, unknown>[] = [];
  return { lines, write: (line) => lines.push(JSON.parse(line)) };
}

test('a line is one JSON object with level, time, message and the fields', () => {
  const sink = collectingSink();
  createLogger('info', sink).log('warn', 'backend is restarting', { backend: 'audio', restarts: 2 });
  const [{ time, ...line } = {}] = sink.lines;
  assert.deepEqual(line, { level: 'warn', msg: 'backend is restarting', backend: 'audio', restarts: 2 });
  assert.ok(!Number.isNaN(Date.parse(String(time))));
});

test('lines below the level are dropped', () => {
  const sink = collectingSink();
  const { log } = createLogger('warn', sink);
  for (const level of ['trace', 'debug', 'info', 'warn', 'error', 'fatal'] as const) log(level, 'x');
  assert.equal(sink.lines.map(({ level }) => level).join(), 'warn,error,fatal');
});

test('a stack keeps its line breaks, and each other character that a terminal obeys is escaped', () => {
  const sink = collectingSink();
  createLogger('info', sink).log('error', 'x', { stack: 'Error: \u009b31m\u202ered\n    at z' });
  assert.equal(sink.lines[0]?.['stack'], 'Error: \\u{9b}31m\\u{202e}red\n    at z');
});

test('the value of a field named cookie never reaches the log', () => {
  const sink = collectingSink();
  createLogger('info', sink).log('info', 'x', { cookie: 'very secret' });
  assert.ok(!JSON.stringify(sink.lines).includes('very secret'));
});

const plainLine = (json: string): string => terminalLine(json, false);
const colouredLine = (json: string): string => terminalLine(json, true);

const TIME = '2026-11-22T02:03:04.056Z';
/** The same time in this machine's time zone. */
const LOCAL_TIME = `${new Date(TIME).toTimeString().slice(0, 8)}.056`;

const TERMINAL_LINES: readonly (readonly [what: string, fields: object, printed: string])[] = [
  [
    'time, level and message',
    { level: 'info', msg: 'listening' },
    `${LOCAL_TIME} INFO            listening\n`,
  ],
  [
    'the backend, and the other fields',
    { level: 'error', backend: 'systemd', msg: 'backend is failed', detail: 'no bus', restarts: 6 },
    `${LOCAL_TIME} ERROR systemd   backend is failed detail=no bus restarts=6\n`,
  ],
  [
    'its stack below it',
    { level: 'warn', msg: 'x', stack: 'Error: y\n    at z' },
    `${LOCAL_TIME} WARN            x\n    Error: y\n    at z\n`,
  ],
  [
    'an escape for each character that a terminal obeys',
    { level: 'warn', msg: 'a\x1b[2Jb\u202ec', name: 'd\re\n\x9b31m' },
    `${LOCAL_TIME} WARN            a\\u{1b}[2Jb\\u{202e}c name=d\\u{d}e\\u{a}\\u{9b}31m\n`,
  ],
];
for (const [what, fields, printed] of TERMINAL_LINES) {
  test(`a line on a terminal has ${what}`, () =>
    assert.equal(plainLine(`${JSON.stringify({ time: TIME, ...fields })}\n`), printed));
}

test('on a terminal the messages of all backends and bridges begin in the same column', () => {
  const columns = CHILD_NAMES.map((backend) => {
    const fields = { time: TIME, level: 'info', backend, msg: 'MESSAGE' };
    return plainLine(JSON.stringify(fields)).indexOf('MESSAGE');
  });
  assert.equal(new Set(columns).size, 1);
});

test('colours surround time, level and fields, and are reset', () => {
  const line = colouredLine(JSON.stringify({ time: TIME, level: 'error', msg: 'm', n: 1 }));
  assert.equal(line, `\x1b[2m${LOCAL_TIME}\x1b[0m \x1b[31mERROR\x1b[0m           m \x1b[2mn=1\x1b[0m\n`);
});

test('lines that are refused are counted, and the count is logged when there is room again', () => {
  const written: string[] = [];
  let hasRoom = true;
  const output = new LogOutput((bytes) => {
    if (!hasRoom) throw new Error('ENOSPC');
    written.push(Buffer.from(bytes).toString());
    return bytes.length;
  });

  output.write('one\n');
  hasRoom = false;
  output.write('two\n');
  output.write('three\n');
  hasRoom = true;
  output.write('four\n');
  output.write('five\n');

  const lost = '{"level":"warn","lost":2,"msg":"log lines were lost"}';
  assert.equal(written.join(''), `one\n${lost}\nfour\nfive\n`);
});

test('a line that was accepted only in part is completed before the next line begins', () => {
  let written = '';
  let roomBytes = 4;
  const output = new LogOutput((bytes) => {
    if (roomBytes === 0) throw new Error('EAGAIN');
    const accepted = bytes.subarray(0, roomBytes);
    roomBytes -= accepted.length;
    written += Buffer.from(accepted).toString('latin1');
    return accepted.length;
  });
  // Each letter has two bytes, and latin1 makes one character of each byte.
  output.write('äöü\n');
  output.write('lost: the first line has not been written whole\n');
  roomBytes = 2;
  output.write('lost: the first line has not been written whole yet\n');
  roomBytes = 1000;
  output.write('next\n');
  const firstLine = Buffer.from('äöü\n').toString('latin1');
  assert.equal(written, `${firstLine}{"level":"warn","lost":2,"msg":"log lines were lost"}\nnext\n`);
});

// A full socket, such as journald's, is tested in test/contract/program.test.ts.
// The output of `fullPipe` blocks, so `standardOutput` must open the pipe once more with O_NONBLOCK.
test('a full pipe refuses a line, and does not block the writer', {
  skip: skipReason({ programs: ['mkfifo'] }),
}, async (t) => {
  const { output, close } = await fullPipe();
  t.after(close);
  const module = new URL('../../src/supervisor/log.js', import.meta.url).href;
  const script = `import { standardOutput } from '${module}'; standardOutput()(Buffer.from('x'));`;
  const stdio: StdioOptions = ['ignore', output, 'pipe'];
  const options = { stdio, encoding: 'utf8', timeout: DEADLINE_MS } as const;
  const { stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', script], options);
  assert.match(stderr, /EAGAIN/);
});
