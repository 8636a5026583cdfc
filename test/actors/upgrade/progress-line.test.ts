// Tests which progress lines become events, and which ones; and lines from bytes in any portions.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LINE_MAX_BYTES, LineSplitter, parseLine } from '../../../src/actors/upgrade/progress-line.js';

function relayed(line: string, text = line): void {
  test(`relayed: ${JSON.stringify(line).slice(0, 70)}`, () => {
    assert.equal(parseLine(Buffer.from(line))?.text, text);
  });
}

function dropped(line: string | Uint8Array): void {
  test(`dropped: ${JSON.stringify(line).slice(0, 70)}`, () => {
    assert.equal(parseLine(Buffer.from(line)), undefined);
  });
}

const STEP = '{"event":"progress","percent":5,"current":1,"step":"a"}';

relayed('{"event":"begin","total":3}');
relayed(STEP);
relayed('{"event":"end","success":false}');
relayed(' {"event" : "begin",\t"total":3.0 } ');
relayed('{"event":"begin","total":3}\r', '{"event":"begin","total":3}');
relayed('{"event":"begin",\r"total":3}\r\r', '{"event":"begin", "total":3} ');
relayed('{"event":"begin","total":3,"n":1.50,"big":12345678901234567890,"s":"\u2028\u{1f600}\\ud800"}');
relayed('{"event":"end","event":"begin","total":1}');
relayed(`{"event":"begin","total":1,"deep":${'['.repeat(30_000)}${']'.repeat(30_000)}}`);
relayed(`{"event":"begin","total":1,"pad":"${'x'.repeat(LINE_MAX_BYTES - 36)}"}`);
relayed(`{"event":"begin","total":1,"__proto__":{"event":"end"}}`);
relayed('{"event":"begin","total":9007199254740993}');
relayed('{"event":"begin","total":-123456789012345678901234567890}');
relayed(`{"event":"begin","total":1${'0'.repeat(400)}}`);
relayed('{"event":"progress","percent":900719925474099267,"current":900719925474099267,"step":"a"}');
relayed('{"event":"progress","percent":-5,"current":-1,"step":"a"}');

dropped('');
dropped('hello');
dropped('null');
dropped('["begin"]');
dropped('{"event":"start"}');
dropped('{"event":"begin"}');
dropped('{"event":"begin","total":"3"}');
dropped('{"event":"begin","total":3.5}');
dropped('{"event":"progress","percent":5,"current":1}');
dropped('{"event":"progress","percent":null,"current":1,"step":"a"}');
dropped('{"event":"progress","percent":0.5,"current":1,"step":"a"}');
dropped('{"event":"end","success":"true"}');
dropped('{"event":"end"}');
dropped('{"event":"begin","total":3');
dropped('{"event":"begin","total":3,"s":"a\rb"}');
dropped(`${STEP}${STEP}`);
dropped(`\ufeff${STEP}`);
dropped(Buffer.concat([Buffer.from(STEP.slice(0, -2)), Uint8Array.of(0xff), Buffer.from('"}')]));
dropped(`{"event":"begin","total":1,"pad":"${'x'.repeat(LINE_MAX_BYTES)}"}`);

/** The lines in the chunks, and the rest after the last LF. */
function split(chunks: readonly string[], maxBytes = 8): { lines: string[]; rest: string } {
  const splitter = new LineSplitter(maxBytes);
  const lines = chunks.flatMap((chunk) =>
    splitter.take(Buffer.from(chunk)).map((line) => Buffer.from(line).toString()),
  );
  return { lines, rest: Buffer.from(splitter.rest()).toString() };
}

test('progress lines are whole, however the bytes arrive', () => {
  const text = 'one\ntwo\r\n\nthree\nrest';
  const expected = { lines: ['one', 'two\r', '', 'three'], rest: 'rest' };
  for (let size = 1; size <= text.length; size++) {
    const chunks = text.match(new RegExp(`[^]{1,${size}}`, 'g')) ?? [];
    assert.deepEqual(split(chunks), expected);
  }
});

test('a progress line that is too long is dropped to its end, and the next one is whole', () => {
  for (const chunks of [['123456789\nok\n'], ['12345', '6789', 'abc\nok\n'], ['12345678', '9', '\nok\n']]) {
    assert.deepEqual(split(chunks), { lines: ['ok'], rest: '' });
  }
  assert.deepEqual(split(['12345678\nok\n']), { lines: ['12345678', 'ok'], rest: '' });
  assert.deepEqual(split(['123456789']), { lines: [], rest: '' });
});
