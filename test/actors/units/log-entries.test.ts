// Tests which log entries are made of journalctl's JSON (docs/http-api.md, "Unit routes").

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { logText } from '../../../src/actors/units/log-entries.js';
import type { LogEntryRecord } from '../../../src/protocol/actor/schemas.js';

const TIMESTAMP = { __REALTIME_TIMESTAMP: '1790000000123456' };
/** The same time in an entry. */
const TIME = '2026-09-21T14:13:20.123Z';

/**
 * The entries of these lines, from the oldest to the newest. The first line is the newest, as in the output
 * of journalctl. A line that is no text is written as JSON.
 */
function entriesOf(...lines: readonly unknown[]): readonly LogEntryRecord[] {
  const texts = lines.map((line) => (typeof line === 'string' ? line : JSON.stringify(line)));
  return JSON.parse(logText(texts.join('\n')));
}

const bytesOf = (text: string): readonly number[] => [...Buffer.from(text)];

/** The field `MESSAGE` of journalctl's JSON, and the message of the entry. */
const MESSAGES: readonly (readonly [condition: string, field: unknown, message: string])[] = [
  ['is a text', 'Hällo\tthere', 'Hällo\tthere'],
  ['is a list of bytes that colour the text', bytesOf('\x1b[1;31mred\x1b[0m plain'), 'red plain'],
  // A line break or a carriage return before `[` begins no escape sequence.
  ['has several lines', 'one\n[two]\n', 'one\n[two]'],
  ['is a line of progress', '\r[download] 5%', '[download] 5%'],
  ['is a list of bytes that are no UTF-8', [0xff, 0x41], '\ufffdA'],
  ['occurs twice', ['one', bytesOf('two\x07')], 'one\ntwo'],
  ['is missing', undefined, ''],
  // Without `--all`, journalctl writes null for a long field.
  ['is null', null, ''],
  ['has more than 4096 characters', 'é'.repeat(5000), `${'é'.repeat(4096)}...`],
];
for (const [condition, field, message] of MESSAGES) {
  test(`the message of an entry is right if the field MESSAGE ${condition}`, () =>
    assert.deepEqual(entriesOf({ ...TIMESTAMP, PRIORITY: '3', MESSAGE: field }), [
      { time: TIME, priority: 3, message },
    ]));
}

test('an entry whose priority is missing or invalid has the priority 6, which stands for information', () => {
  const entries = entriesOf(TIMESTAMP, { ...TIMESTAMP, PRIORITY: '9' }, { ...TIMESTAMP, PRIORITY: '0' });
  // The last line is the oldest entry, so its valid priority comes first.
  const priorities = entries.map(({ priority }) => priority);
  assert.deepEqual(priorities, [0, 6, 6]);
});

test('log entries begin with the oldest, and a line that is no complete entry is left out', () => {
  const newer = { ...TIMESTAMP, MESSAGE: 'new' };
  const older = { ...TIMESTAMP, MESSAGE: 'old' };
  const entries = entriesOf(newer, '', 'null', '[]', {}, older, '{"MESSAGE": "cu');
  const messages = entries.map(({ message }) => message);
  assert.deepEqual(messages, ['old', 'new']);
});

test('if log entries have more than 64 KiB together, only the newest are kept', () => {
  // JSON escapes each quote, so an entry takes some 8 kB, and some eight entries fit.
  const lines = Array.from({ length: 200 }, (_, age) => {
    return { ...TIMESTAMP, MESSAGE: `${age} ${'"'.repeat(4000)}` };
  });

  const text = logText(lines.map((line) => JSON.stringify(line)).join('\n'));

  assert.ok(Buffer.byteLength(text) <= 64 * 1024);
  const entries: readonly LogEntryRecord[] = JSON.parse(text);
  assert.ok(entries.length > 5, `${entries.length} entries are kept`);
  const newestFirst = entries.toReversed();
  for (const [age, { message }] of newestFirst.entries()) assert.ok(message.startsWith(`${age} `));
});
