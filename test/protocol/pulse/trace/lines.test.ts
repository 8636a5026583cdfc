// Tests the form of a trace's lines. Also tests that no text in a line moves a terminal's cursor or ends the
// line.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DecodedMessage } from '../../../../src/protocol/pulse/trace/conversation.js';
import { jsonLine, type TraceLine, textLine } from '../../../../src/protocol/pulse/trace/lines.js';

const TIME_AND_CONNECTION = { seconds: 1.25, connection: 3 } as const;

function lineOf(fields: Partial<DecodedMessage>): TraceLine {
  const decoded: DecodedMessage = {
    command: 'GET_SINK_INFO',
    tag: 7,
    answers: undefined,
    fields: {},
    unnamed: [],
    problem: undefined,
    declined: [],
    ...fields,
  };
  return { ...TIME_AND_CONNECTION, from: 'client', ...decoded };
}

const UNNAMED = [
  { type: 'u32', value: 5 },
  { type: 'props', value: { 'media.name': 'A b', 'ä ': '' } },
] as const;

const ROWS: readonly (readonly [line: TraceLine, text: string])[] = [
  [
    lineOf({ fields: { index: null, name: 'living', volume: [1, 2], muted: false } }),
    '   1.250000 #3 > 7 GET_SINK_INFO index=- name=living volume=[1 2] muted=false',
  ],
  [
    {
      ...lineOf({ command: 'REPLY', answers: 'AUTH', fields: { version: 35 }, declined: ['shm'] }),
      from: 'server',
    },
    '   1.250000 #3 < 7 REPLY AUTH version=35 (declined: shm)',
  ],
  [
    lineOf({ command: 200, tag: undefined, problem: '4 bytes more', unnamed: UNNAMED }),
    '   1.250000 #3 > - 200 unnamed=[u32:5 props:{media.name="A b" "ä "=""}] (4 bytes more)',
  ],
  [
    {
      ...TIME_AND_CONNECTION,
      from: 'server',
      data: { channel: 0, offset: -4, length: 4096, seek: 'relative' },
    },
    '   1.250000 #3 < data channel=0 offset=-4 length=4096 seek=relative',
  ],
  [{ ...TIME_AND_CONNECTION, note: 'connected' }, '   1.250000 #3 connected'],
  [{ ...TIME_AND_CONNECTION, from: 'client', note: 'malformed: x' }, '   1.250000 #3 > malformed: x'],
];
for (const [line, text] of ROWS)
  test(`a line is printed as: ${text}`, () => assert.equal(textLine(line), text));

test('JSON has the members of a line, but no empty list `unnamed` or `declined`', () => {
  const otherMembers = {
    ...TIME_AND_CONNECTION,
    from: 'client',
    command: 200,
    tag: 7,
    fields: { index: null },
  };
  const declinedEmpty = lineOf({ command: 200, fields: { index: null }, unnamed: UNNAMED, declined: [] });
  assert.deepEqual(JSON.parse(jsonLine(declinedEmpty)), { ...otherMembers, unnamed: UNNAMED });
  const unnamedEmpty = lineOf({ command: 200, fields: { index: null }, unnamed: [], declined: ['shm'] });
  assert.deepEqual(JSON.parse(jsonLine(unnamedEmpty)), { ...otherMembers, declined: ['shm'] });
});

/** lines.ts escapes every character of this text that is not printable ASCII. */
const HOSTILE = 'a\n\u001b[2J\u009b1m\u202e\u2028\u0000\u00ad\u2060\u{e0041}"\\';
const PRINTABLE_ASCII = /^[\u0020-\u007e]*$/;

test('control characters are escaped, also in keys', () => {
  const line = lineOf({ fields: { name: HOSTILE, props: { [HOSTILE]: HOSTILE } } });
  for (const text of [textLine(line), jsonLine(line)]) assert.match(text, PRINTABLE_ASCII);
  const { fields } = JSON.parse(jsonLine(line)) as {
    fields: { name: string; props: Record<string, string> };
  };
  assert.deepEqual(fields, { name: HOSTILE, props: { [HOSTILE]: HOSTILE } });
});

test('control characters in a note are escaped, for example in the path of a socket', () => {
  const line: TraceLine = { ...TIME_AND_CONNECTION, note: `no sound server: connect ENOENT /${HOSTILE}` };
  for (const text of [textLine(line), jsonLine(line)]) assert.match(text, PRINTABLE_ASCII);
});

test('a text of more than 160 characters is whole in JSON, and cut in a line for people', () => {
  const line = lineOf({ fields: { name: 'x'.repeat(1000) } });
  assert.match(textLine(line), / name="x{160}"\.\.\.$/);
  assert.match(jsonLine(line), /"x{1000}"/);
});
