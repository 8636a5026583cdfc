// The wire format, and every way in which a text could break out of its event.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BYE, frame, hello, love, sequenceIn } from '../../../src/gateway/events/frames.js';
import { parsedByConsumer } from '../../consumer/parser.js';

test('an event is id, type, data and a blank line', () => {
  const event = frame('power.action', '{"action":"reboot"}', 'b-7');
  assert.equal(event, 'id: b-7\nevent: power.action\ndata: {"action":"reboot"}\n\n');
});

test('of server.info only love has an id, that of the newest event', () => {
  assert.equal(love('b', 7), 'id: b-7\nevent: server.info\ndata: "love"\n\n');
  assert.equal(BYE, 'event: server.info\ndata: "bye"\n\n');
});

const HELLOS: readonly [chance: number, retryMs: number][] = [
  [0, 2000],
  [0.5, 3500],
  [0.999999, 5000],
];
for (const [chance, retryMs] of HELLOS) {
  test(`the first bytes for chance ${chance} are retry ${retryMs} and "connected"`, () => {
    assert.equal(hello(chance), `retry: ${retryMs}\nevent: server.info\ndata: "connected"\n\n`);
  });
}

test('an unknown name in a query is named in a comment at the beginning, and cannot break it', () => {
  const [comment, ...rest] = hello(0, ['audio.update', 'a\nevent: b\r']).split(/\r|\n/);
  assert.equal(comment, String.raw`: ignored, as unknown here: ["audio.update","a\nevent: b\r"]`);
  assert.deepEqual(rest.slice(0, 2), ['retry: 2000', 'event: server.info']);
});

/** The data of an event, and the data that a consumer must receive. */
const TEXTS: readonly [name: string, data: string, heard: string][] = [
  ['JSON', '{"a":[1,2]}', '{"a":[1,2]}'],
  ['NUL', '"a\0b"', '"a\0b"'],
  ['U+2028, U+2029, NEL, VT, FF', '"\u2028\u2029\u0085\v\f"', '"\u2028\u2029\u0085\v\f"'],
  ['a byte order mark', '\ufeff{}', '\ufeff{}'],
  ['beyond the BMP', '"🎵"', '"🎵"'],
  ['a lone high surrogate', '"\ud83c"', '"\ufffd"'],
  ['swapped surrogates', '"\udfb5\ud83c"', '"\ufffd\ufffd"'],
];
for (const [name, data, heard] of TEXTS) {
  test(`${name} in the data cannot break the event`, () => {
    const bytes = Buffer.from(
      frame('upgrade.progress', data, 'b-1') + frame('power.action', '"next"', 'b-2'),
    );
    assert.deepEqual(parsedByConsumer([bytes], '').events, [
      { type: 'upgrade.progress', data: heard, lastEventId: 'b-1' },
      { type: 'power.action', data: '"next"', lastEventId: 'b-2' },
    ]);
    new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  });
}

const IDS: readonly [id: string, boot: string, sequence?: number][] = [
  ['b-12', 'b', 12],
  ['a-b_c-3', 'a-b_c', 3],
  ['b-0', 'b'],
  ['other-1', 'b'],
  ['b-', 'b'],
  ['', 'b'],
  ['b-01', 'b'],
  ['b-1\n', 'b'],
  ['b-٣', 'b'],
  [`b-${'9'.repeat(15)}`, 'b', 999_999_999_999_999],
  [`b-${'9'.repeat(16)}`, 'b'],
];
for (const [id, boot, sequence] of IDS) {
  test(`the id ${JSON.stringify(id)} is ${sequence ?? 'unknown'} to boot ${boot}`, () => {
    assert.equal(sequenceIn(id, boot), sequence);
  });
}
