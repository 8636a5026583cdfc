// Tests which progress lines are valid, which text is relayed for a valid line, and how chunks of bytes
// become lines.

import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import { LINE_MAX_BYTES, parseLine, splitLines } from '../../../src/actors/upgrade/progress-line.js';

const STEP = '{"event":"progress","percent":5,"current":1,"step":"a"}';

const paddedLine = (padBytes: number): string =>
  `{"event":"begin","total":1,"pad":"${'x'.repeat(padBytes)}"}`;
const BYTES_AROUND_PAD = paddedLine(0).length;

test('valid lines are relayed unchanged, whatever their size and their other fields', () => {
  for (const line of [
    '{"event":"begin","total":3}',
    STEP,
    '{"event":"end","success":false}',
    ' {"event" : "begin",\t"total":3.0 } ',
    '{"event":"begin","total":3,"n":1.50,"big":12345678901234567890,"s":"\u2028\u{1f600}\\ud800"}',
    // The last one of two members with the same name counts.
    '{"event":"end","event":"begin","total":1}',
    `{"event":"begin","total":1,"deep":${'['.repeat(30_000)}${']'.repeat(30_000)}}`,
    paddedLine(LINE_MAX_BYTES - BYTES_AROUND_PAD),
    '{"event":"begin","total":1,"__proto__":{"event":"end"}}',
    // JSON allows a whole number of any size and sign.
    `{"event":"begin","total":-1${'0'.repeat(400)}}`,
    '{"event":"progress","percent":-5,"current":900719925474099267,"step":"a"}',
  ]) {
    assert.equal(parseLine(Buffer.from(line))?.text, line);
  }
});

test('a carriage return at the end of a line is removed, and any other one outside of a string becomes a space', () => {
  const line = Buffer.from('{"event":"begin",\r"total":3}\r\r');
  assert.equal(parseLine(line)?.text, '{"event":"begin", "total":3} ');
});

test('lines that are no valid events are dropped', () => {
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
    // The pad alone is as long as a line may be, so the whole line is too long.
    paddedLine(LINE_MAX_BYTES),
  ]) {
    assert.equal(parseLine(Buffer.from(line)), undefined, String(line).slice(0, 70));
  }
});

/** The lines of the chunks. The last line is what follows the last LF. */
async function linesOf(chunks: readonly string[]): Promise<string[]> {
  const lines: string[] = [];
  for await (const line of splitLines(Readable.from(chunks.map((chunk) => Buffer.from(chunk)))))
    lines.push(Buffer.from(line).toString());
  return lines;
}

test('progress lines are whole, however the bytes arrive', async () => {
  const text = 'one\ntwo\r\n\nthree\nunfinished';
  for (let size = 1; size <= text.length; size++) {
    const chunks = text.match(new RegExp(`.{1,${size}}`, 'gs')) ?? [];
    assert.deepEqual(await linesOf(chunks), ['one', 'two\r', '', 'three', 'unfinished']);
  }
});

test('a line that is too long is cut, and the next line is whole', async () => {
  // One chunk is shorter than LINE_MAX_BYTES (65 536), and two chunks together are longer.
  const chunk = 'x'.repeat(50_000);
  const endlessLines = await linesOf(Array.from({ length: 10 }, () => chunk));
  // The longest valid line has LINE_MAX_BYTES and a CR. With one more byte a line is too long, whatever
  // follows, so no further bytes are kept.
  assert.deepEqual(endlessLines, ['x'.repeat(LINE_MAX_BYTES + 2)]);

  const [longLine = '', nextLine = '', unfinished] = await linesOf([chunk, chunk, `x\n${STEP}\n`]);
  assert.ok(longLine.length > LINE_MAX_BYTES + 1);
  assert.equal(parseLine(Buffer.from(nextLine))?.text, STEP);
  assert.equal(unfinished, '');
});
