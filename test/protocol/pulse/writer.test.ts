// The reader reads all that the writer writes, at any position in its buffer. The literal bytes are in commands.test.ts.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HEADER_BYTES } from '../../../src/protocol/pulse/frame.js';
import { Reader } from '../../../src/protocol/pulse/reader.js';
import { TextCache } from '../../../src/protocol/pulse/text-cache.js';
import { WireError } from '../../../src/protocol/pulse/wire.js';
import { Writer } from '../../../src/protocol/pulse/writer.js';

const SPEC = { format: 255, channels: 2, rate: 0xffffffff };
const MAP = Array.from({ length: 32 }, (_, at) => 31 - at);
const FORMAT = { encoding: 1, props: { key: 'größer' } };

test('values are whole wherever the first buffer ends', () => {
  for (let before = 0; before < 100; before += 1) {
    const writer = new Writer(1, 2);
    for (let count = 0; count < before; count += 1) writer.bool(true);
    writer.u8(255);
    writer.index(undefined);
    writer.usec(2 ** 33 + 5);
    writer.sampleSpec(SPEC);
    writer.channelMap(MAP);
    writer.volumes([1, 2]);
    writer.optionalText('ü');
    writer.format(FORMAT);
    const reader = new Reader(writer.frame().subarray(HEADER_BYTES), 35, new TextCache());
    assert.deepEqual([reader.u32(), reader.u32()], [1, 2]);
    for (let count = 0; count < before; count += 1) assert.equal(reader.bool(), true);
    assert.deepEqual([reader.u8(), reader.index(), reader.usec()], [255, undefined, 2 ** 33 + 5]);
    assert.deepEqual([reader.sampleSpec(), reader.channelMap(), reader.volumes()], [SPEC, MAP, [1, 2]]);
    assert.equal(reader.text(), 'ü');
    const { encoding, props } = reader.format();
    assert.deepEqual({ encoding, props: { ...props } }, FORMAT);
    reader.finish();
  }
});

for (const value of [-1, 256, 0.5, Number.NaN]) {
  test(`${value} is no byte`, () => assert.throws(() => new Writer(1, 2).u8(value), WireError));
}
