// Tests what journalctl's JSON becomes (docs/http-api.md, "Unit routes").

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { logText } from '../../../src/actors/units/log-entries.js';
import type { LogEntryRecord } from '../../../src/protocol/actor/schemas.js';

const AT = { __REALTIME_TIMESTAMP: '1790000000123456' };
const TIME = '2026-09-21T14:13:20.123Z';

function read(...lines: readonly unknown[]): readonly LogEntryRecord[] {
  const texts = lines.map((line) => (typeof line === 'string' ? line : JSON.stringify(line)));
  return JSON.parse(logText(texts.join('\n')));
}

const bytesOf = (text: string): readonly number[] => [...Buffer.from(text)];

const MESSAGES: readonly (readonly [what: string, field: unknown, message: string])[] = [
  ['a text', 'Hällo\tthere', 'Hällo\tthere'],
  ['several lines', 'one\n[two]\n', 'one\n[two]'],
  ['bytes, because of colours', bytesOf('\x1b[1;31mred\x1b[0m plain'), 'red plain'],
  ['bytes that are no UTF-8', [0xff, 0x41], '\ufffdA'],
  ['a field that occurs twice', ['one', bytesOf('two\x07')], 'one\ntwo'],
  ['nothing', undefined, ''],
  ['null', null, ''],
  ['a long text', 'é'.repeat(5000), `${'é'.repeat(4096)}...`],
];
for (const [what, field, message] of MESSAGES) {
  test(`a message of ${what} becomes text`, () =>
    assert.deepEqual(read({ ...AT, PRIORITY: '3', MESSAGE: field }), [{ time: TIME, priority: 3, message }]));
}

test('a priority that is missing or strange is that of information', () => {
  const entries = read(AT, { ...AT, PRIORITY: '9' }, { ...AT, PRIORITY: '0' });
  const priorities = entries.map(({ priority }) => priority);
  assert.deepEqual(priorities, [0, 6, 6]);
});

test('log entries begin with the oldest, and incomplete ones are left out', () => {
  const [newer, older] = ['new', 'old'].map((text) => ({ ...AT, MESSAGE: text }));
  const entries = read(newer, '', 'null', '[]', {}, older, '{"MESSAGE": "cu');
  const messages = entries.map(({ message }) => message);
  assert.deepEqual(messages, ['old', 'new']);
});

test('the newest log entries are kept where there are more than 64 KiB', () => {
  const lines = Array.from({ length: 200 }, (_, age) => ({ ...AT, MESSAGE: `${age} ${'"'.repeat(4000)}` }));
  const text = logText(lines.map((line) => JSON.stringify(line)).join('\n'));
  assert.ok(Buffer.byteLength(text) <= 64 * 1024);
  const entries: readonly LogEntryRecord[] = JSON.parse(text);
  assert.ok(entries.length > 5);
  for (const [index, { message }] of entries.toReversed().entries())
    assert.ok(message.startsWith(`${index} `));
});
