// The log's lines, as journald gets them, and as people see them at a terminal.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createLogger, terminalLine } from '../../src/supervisor/log.js';

function collect(): { lines: Record<string, unknown>[]; write: (line: string) => void } {
  const lines: Record<string, unknown>[] = [];
  return { lines, write: (line) => lines.push(JSON.parse(line)) };
}

test('a line is one JSON object with level, time, message and the fields', () => {
  const sink = collect();
  createLogger('info', sink)('warn', 'backend is restarting', { backend: 'audio', restarts: 2 });
  const [{ time, ...line } = {}] = sink.lines;
  assert.deepEqual(line, { level: 'warn', msg: 'backend is restarting', backend: 'audio', restarts: 2 });
  assert.ok(!Number.isNaN(Date.parse(String(time))));
});

test('lines below the level are dropped', () => {
  const sink = collect();
  const log = createLogger('warn', sink);
  for (const level of ['trace', 'debug', 'info', 'warn', 'error', 'fatal'] as const) log(level, 'x');
  assert.equal(sink.lines.map(({ level }) => level).join(), 'warn,error,fatal');
});

test('a field named cookie never reaches the log', () => {
  const sink = collect();
  createLogger('info', sink)('info', 'x', { cookie: 'very secret' });
  assert.ok(!JSON.stringify(sink.lines).includes('very secret'));
});

const TIME = '2026-11-22T02:03:04.056Z';
/** The same time in this machine's time zone. */
const CLOCK = `${new Date(TIME).toTimeString().slice(0, 8)}.056`;

const rows: readonly (readonly [what: string, fields: object, shown: string])[] = [
  ['time, level and message', { level: 'info', msg: 'listening' }, `${CLOCK} INFO          listening\n`],
  [
    'the backend, and the other fields',
    { level: 'error', backend: 'systemd', msg: 'backend is failed', detail: 'no bus', restarts: 6 },
    `${CLOCK} ERROR systemd backend is failed detail=no bus restarts=6\n`,
  ],
  [
    'a stack below',
    { level: 'warn', msg: 'x', stack: 'Error: y\n    at z' },
    `${CLOCK} WARN          x\n    Error: y\n    at z\n`,
  ],
  [
    'nothing that acts on a terminal',
    { level: 'warn', msg: 'a\x1b[2Jb\u202ec', name: 'd\re\n\x9b31m' },
    `${CLOCK} WARN          a\\u{1b}[2Jb\\u{202e}c name=d\\u{d}e\\u{a}\\u{9b}31m\n`,
  ],
];

for (const [what, fields, shown] of rows) {
  test(`on a terminal: ${what}`, () =>
    assert.equal(terminalLine(`${JSON.stringify({ time: TIME, ...fields })}\n`, false), shown));
}

test('colours surround time, level and fields, and are reset', () => {
  const line = terminalLine(JSON.stringify({ time: TIME, level: 'error', msg: 'm', n: 1 }), true);
  assert.equal(line, `\x1b[2m${CLOCK}\x1b[0m \x1b[31mERROR\x1b[0m         m \x1b[2mn=1\x1b[0m\n`);
});
