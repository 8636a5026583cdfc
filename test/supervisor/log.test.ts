// The log's lines, as journald gets them.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createLogger } from '../../src/supervisor/log.js';

function collect(): { lines: Record<string, unknown>[]; write: (line: string) => void } {
  const lines: Record<string, unknown>[] = [];
  return { lines, write: (line) => lines.push(JSON.parse(line)) };
}

test('a line is one JSON object with level, time, message and the fields', () => {
  const sink = collect();
  createLogger('info', sink).log('warn', 'backend is restarting', { backend: 'audio', restarts: 2 });
  const [{ time, ...line } = {}] = sink.lines;
  assert.deepEqual(line, { level: 'warn', msg: 'backend is restarting', backend: 'audio', restarts: 2 });
  assert.ok(!Number.isNaN(Date.parse(String(time))));
});

test('lines below the level are dropped', () => {
  const sink = collect();
  const logger = createLogger('warn', sink);
  for (const level of ['trace', 'debug', 'info', 'warn', 'error', 'fatal'] as const) logger.log(level, 'x');
  assert.deepEqual(
    sink.lines.map(({ level }) => level),
    ['warn', 'error', 'fatal'],
  );
});

test('a field named cookie never reaches the log', () => {
  const sink = collect();
  createLogger('info', sink).log('info', 'x', { cookie: 'very secret' });
  assert.ok(!JSON.stringify(sink.lines).includes('very secret'));
});
