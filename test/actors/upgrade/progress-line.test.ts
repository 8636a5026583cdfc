// Tests which progress lines become events, and which ones; and lines from bytes in any portions.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LINE_MAX_BYTES, LineSplitter, parseLine } from '../../../src/actors/upgrade/progress-line.js';

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
function split(chunks: readonly string[]): string[] {
  const splitter = new LineSplitter();
  const lines = chunks.flatMap((chunk) => splitter.take(Buffer.from(chunk)));
  return [...lines, splitter.rest()].map((line) => Buffer.from(line).toString());
}

test('progress lines are whole, however the bytes arrive', () => {
  const text = 'one\ntwo\r\n\nthree\nrest';
  for (let size = 1; size <= text.length; size++) {
    const chunks = text.match(new RegExp(`[^]{1,${size}}`, 'g')) ?? [];
    assert.deepEqual(split(chunks), ['one', 'two\r', '', 'three', 'rest']);
  }
});

test('of a line without end so much is kept as shows that it is too long, and the next one is whole', () => {
  const part = 'x'.repeat(50_000);
  const splitter = new LineSplitter();
  for (let n = 0; n < 10; n++) assert.deepEqual(splitter.take(Buffer.from(part)), []);
  assert.equal(splitter.rest().length, LINE_MAX_BYTES + 2);
  const [long, next] = splitter.take(Buffer.from(`x\n${STEP}\n`));
  assert.ok(long !== undefined && long.length > LINE_MAX_BYTES + 1);
  assert.equal(parseLine(next ?? long)?.text, STEP);
});
