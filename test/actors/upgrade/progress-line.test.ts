// Tests which progress lines become events, and which ones; and lines from bytes in any portions.

import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import { LINE_MAX_BYTES, parseLine, splitLines } from '../../../src/actors/upgrade/progress-line.js';

const STEP = '{"event":"progress","percent":5,"current":1,"step":"a"}';

test('valid lines are relayed unchanged, whatever their size and further fields', () => {
  for (const line of [
    '{"event":"begin","total":3}',
    STEP,
    '{"event":"end","success":false}',
    ' {"event" : "begin",\t"total":3.0 } ',
    '{"event":"begin","total":3,"n":1.50,"big":12345678901234567890,"s":"\u2028\u{1f600}\\ud800"}',
    '{"event":"end","event":"begin","total":1}',
    `{"event":"begin","total":1,"deep":${'['.repeat(30_000)}${']'.repeat(30_000)}}`,
    `{"event":"begin","total":1,"pad":"${'x'.repeat(LINE_MAX_BYTES - 36)}"}`,
    '{"event":"begin","total":1,"__proto__":{"event":"end"}}',
    `{"event":"begin","total":-1${'0'.repeat(400)}}`,
    '{"event":"progress","percent":-5,"current":900719925474099267,"step":"a"}',
  ]) {
    assert.equal(parseLine(Buffer.from(line))?.text, line);
  }
});

test('a carriage return at the end of a line is cut, and between tokens it becomes a space', () => {
  const line = Buffer.from('{"event":"begin",\r"total":3}\r\r');
  assert.equal(parseLine(line)?.text, '{"event":"begin", "total":3} ');
});

test('other lines are dropped', () => {
  for (const line of [
    '',
    'hello',
    'null',
    '["begin"]',
    '{"event":"start"}',
    '{"event":"begin"}',
    '{"event":"begin","total":"3"}',
    '{"event":"begin","total":3.5}',
    '{"event":"progress","percent":5,"current":1}',
    '{"event":"progress","percent":null,"current":1,"step":"a"}',
    '{"event":"progress","percent":0.5,"current":1,"step":"a"}',
    '{"event":"end","success":"true"}',
    '{"event":"begin","total":3',
    '{"event":"begin","total":3,"s":"a\rb"}',
    `${STEP}${STEP}`,
    `\ufeff${STEP}`,
    Buffer.concat([Buffer.from(STEP.slice(0, -2)), Uint8Array.of(0xff), Buffer.from('"}')]),
    `{"event":"begin","total":1,"pad":"${'x'.repeat(LINE_MAX_BYTES)}"}`,
  ]) {
    assert.equal(parseLine(Buffer.from(line)), undefined, String(line).slice(0, 70));
  }
});

/** The lines in the chunks, with the rest after the last LF as the last one. */
async function split(chunks: readonly string[]): Promise<string[]> {
  const lines: string[] = [];
  for await (const line of splitLines(Readable.from(chunks.map((chunk) => Buffer.from(chunk)))))
    lines.push(Buffer.from(line).toString());
  return lines;
}

test('progress lines are whole, however the bytes arrive', async () => {
  const text = 'one\ntwo\r\n\nthree\nrest';
  for (let size = 1; size <= text.length; size++) {
    const chunks = text.match(new RegExp(`[^]{1,${size}}`, 'g')) ?? [];
    assert.deepEqual(await split(chunks), ['one', 'two\r', '', 'three', 'rest']);
  }
});

test('a line without end is kept only until it is too long, and the next line is whole', async () => {
  const part = 'x'.repeat(50_000);
  const endless = await split(Array.from({ length: 10 }, () => part));
  assert.deepEqual(endless, ['x'.repeat(LINE_MAX_BYTES + 2)]);
  const [long = '', next = '', rest] = await split([part, part, `x\n${STEP}\n`]);
  assert.ok(long.length > LINE_MAX_BYTES + 1);
  assert.deepEqual([parseLine(Buffer.from(next))?.text, rest], [STEP, '']);
});
