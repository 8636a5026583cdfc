// Large payloads, made small as they come: what a reader makes of them is what it would make of the whole.

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { COMMANDS } from '../../../src/protocol/pulse/commands.js';
import { CONDENSED_MAX_BYTES, Condenser } from '../../../src/protocol/pulse/condenser.js';
import { Framer, WHOLE_MAX_BYTES } from '../../../src/protocol/pulse/frame.js';
import { Reader } from '../../../src/protocol/pulse/reader.js';
import type { SinkInputInfo } from '../../../src/protocol/pulse/records.js';
import { TextCache } from '../../../src/protocol/pulse/text-cache.js';
import { WireError } from '../../../src/protocol/pulse/wire.js';
import * as wire from './bytes.js';

const GOLDEN = new URL('../../../../test/golden/', import.meta.url);
const HEADER = 20;

function condensed(payload: Uint8Array, size: number): Uint8Array {
  const condenser = new Condenser();
  for (let at = 0; at < payload.length; at += size) condenser.push(payload.subarray(at, at + size));
  return condenser.payload;
}

function list(payload: Uint8Array): SinkInputInfo[] {
  const reader = new Reader(payload, 35, new TextCache());
  return COMMANDS.GET_SINK_INPUT_INFO_LIST.reply.read(reader);
}

const captures = readdirSync(GOLDEN).filter((name) => /^(pipewire|pulse).*(sink|server).*\.bin$/.test(name));
for (const name of captures) {
  test(`what servers say is not changed: ${name}`, () => {
    new Framer().push(readFileSync(new URL(name, GOLDEN)), (payload) => {
      for (const size of [1, 7, payload.length]) {
        assert.deepEqual(Buffer.from(condensed(payload, size)), Buffer.from(payload), `chunks of ${size}`);
      }
    });
  });
}

/** Properties of `count` entries with values of `size` bytes, with a needed one at the end. */
const wide = (count: number, size: number): readonly number[] =>
  wire.props(
    ...Array.from({ length: count }, (_, at) => wire.textProp(`k${at}`, '☕'.repeat(size / 3))),
    wire.textProp('application.name', 'Wide'),
  );

test('long texts and wide properties read as they would have, in any chunks', () => {
  const long = 'é'.repeat(30_000);
  const records = [
    wire.sinkInput({ index: 1, props: wide(110, 999) }),
    wire.sinkInput({ index: 2, name: long, props: wide(300, 30) }),
    wire.sinkInput({
      index: 3,
      props: wire.props(wire.textProp(long, 'v'), wire.prop('k', []), wire.textProp('l', long)),
    }),
    wire.sinkInput({ index: 4, props: wire.props(wire.prop('z', new Array(4000).fill(0))) }),
  ];
  const payload = Uint8Array.from(records.flat());
  const whole = list(payload);
  assert.equal(whole[0]?.props['application.name'], 'Wide');
  for (const size of [1, 1000, 4096, payload.length]) {
    const small = condensed(payload, size);
    assert.deepEqual(list(small), whole, `chunks of ${size}`);
    assert.ok(small.length < 30_000, `${small.length} bytes`);
  }
});

test('cut anywhere, nothing is made up', () => {
  const payload = Uint8Array.from(wire.sinkInput({ name: 'x'.repeat(1100), props: wide(12, 1200) }));
  for (let end = 1; end < payload.length; end += 1) {
    const condenser = new Condenser();
    condenser.push(payload.subarray(0, end));
    assert.throws(() => list(condenser.payload), WireError, `cut at ${end}`);
  }
});

const VIOLATIONS: readonly (readonly [what: string, payload: readonly number[]])[] = [
  ['an unknown tag', [0x7f]],
  ['bytes, which no record has', wire.blob([1, 2])],
  ['a property that is a number', [0x50, ...wire.u32(1)]],
  ['a property without a value', [0x50, ...wire.text('k'), ...wire.text('v'), ...new Array(20).fill(0)]],
  ['a value of two lengths', [0x50, ...wire.text('k'), ...wire.u32(2), ...wire.blob([1, 2, 3])]],
];
for (const [what, payload] of VIOLATIONS) {
  test(`${what} is a violation`, () => {
    assert.throws(() => condensed(Uint8Array.from([...wire.u32(1), ...payload]), 1), WireError);
  });
}

test('what remains has a bound, too', () => {
  const record = Uint8Array.from(wire.sinkInput({ props: wide(110, 999) }));
  const condenser = new Condenser();
  assert.throws(() => {
    for (let pushed = 0; pushed < 2 * CONDENSED_MAX_BYTES; pushed += 9000) condenser.push(record);
  }, WireError);
});

test('a frame that is too large to be kept comes condensed, between others', () => {
  const records = Array.from({ length: 40 }, (_, index) => wire.sinkInput({ index, props: wide(110, 999) }));
  const large = Uint8Array.from(records.flat());
  assert.ok(large.length > 2 * WHOLE_MAX_BYTES);
  const behind = new Array(1000).fill(4);
  const stream = Buffer.concat([
    wire.framed([1, 2, 3]),
    Buffer.from(wire.framed([], { length: large.length })).subarray(0, HEADER),
    large,
    wire.framed(behind),
  ]);
  for (const size of [333, 65_536]) {
    const delivered: Uint8Array[] = [];
    const framer = new Framer();
    for (let at = 0; at < stream.length; at += size)
      framer.push(stream.subarray(at, at + size), (payload) => delivered.push(Buffer.from(payload)));
    const [first, second = new Uint8Array(0), third] = delivered;
    assert.deepEqual([...(first ?? [])], [1, 2, 3]);
    assert.deepEqual(list(second), list(large));
    assert.ok(second.length < large.length / 5);
    assert.deepEqual([...(third ?? [])], behind);
  }
});
