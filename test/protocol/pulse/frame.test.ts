// Tests that whole frames come out of any chunks, and that headers which no server may send are refused.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CONTROL_CHANNEL, Framer, PAYLOAD_MAX_BYTES } from '../../../src/protocol/pulse/frame.js';
import { WireError } from '../../../src/protocol/pulse/wire.js';
import { framed } from './bytes.js';

const join = (...pieces: Uint8Array[]): Uint8Array => Uint8Array.from(pieces.flatMap((piece) => [...piece]));

type Delivered = readonly [channel: number, payload: number[]];

/**
 * These bytes of an older read stand behind each chunk. That may be so in the daemon, because all its reads
 * share one buffer (actors/dial.ts). The framer must not read them.
 */
const STALE = framed([7, 7]);

function framesIn(...chunks: Uint8Array[]): Delivered[] {
  const framer = new Framer();
  const delivered: Delivered[] = [];
  for (const chunk of chunks)
    framer.push(
      join(chunk, STALE),
      ({ bytes }, start, end, channel) => delivered.push([channel, [...bytes.subarray(start, end)]]),
      chunk.length,
    );
  return delivered;
}

const STREAM = join(
  framed([1, 2, 3]),
  framed([9, 9, 9, 9], { channel: 5, flags: 1 }),
  framed([4]),
  framed(Array.from({ length: 300 }, (_, index) => index % 256)),
  framed([8, 8], { channel: 0 }),
);
const EXPECTED: readonly Delivered[] = [
  [CONTROL_CHANNEL, [1, 2, 3]],
  [5, [9, 9, 9, 9]],
  [CONTROL_CHANNEL, [4]],
  [CONTROL_CHANNEL, Array.from({ length: 300 }, (_, index) => index % 256)],
  [0, [8, 8]],
];

/** The stream in chunks of this size. */
function* chunksOf(stream: Uint8Array, size: number): Generator<Uint8Array> {
  for (let start = 0; start < stream.length; start += size) yield stream.subarray(start, start + size);
}

test('frames are delivered whole, each with its channel, also when the stream is cut in two', () => {
  for (let cut = 0; cut <= STREAM.length; cut += 1)
    assert.deepEqual(framesIn(STREAM.subarray(0, cut), STREAM.subarray(cut)), EXPECTED, `cut at ${cut}`);
});

test('a small frame and a large one behind it are delivered unchanged, wherever the chunks end', () => {
  const payload = Array.from({ length: 10_000 }, (_, index) => index % 251);
  const smallFrame = framed([1, 2, 3]);
  const stream = join(smallFrame, framed(payload));
  const expected = [[1, 2, 3], payload].map((bytes) => [CONTROL_CHANNEL, bytes]);
  for (const size of [1, 1000, 4096])
    assert.deepEqual(framesIn(...chunksOf(stream, size)), expected, `chunks of ${size}`);
  for (let cut = 1; cut <= smallFrame.length; cut += 1)
    assert.deepEqual(framesIn(stream.subarray(0, cut), stream.subarray(cut)), expected, `cut at ${cut}`);
});

test('a payload that is kept is not overwritten by the next frame', () => {
  const kept: Uint8Array[] = [];
  const framer = new Framer();
  for (const byte of join(framed([1, 2]), framed([3, 4])))
    framer.push(Uint8Array.of(byte), ({ bytes }, start, end) => kept.push(bytes.subarray(start, end)));
  assert.equal(kept.map((payload) => payload.join()).join(' '), '1,2 3,4');
});

/**
 * Only a frame with audio data may have an offset or flags. The offset has two words: `offset` is the upper
 * one, in which 1 means 4 GiB. Byte 12 is the highest byte of the lower one, where 1 means 16 MiB.
 */
const HEADERS: readonly (readonly [what: string, frame: Uint8Array])[] = [
  ['length 0', framed([])],
  ['length 0 on another channel', framed([], { channel: 1 })],
  ['length just above the limit', framed([1], { length: PAYLOAD_MAX_BYTES + 1 })],
  ['length 2^32 - 1', framed([1], { length: 0xffffffff })],
  ['too much audio data', framed([], { length: PAYLOAD_MAX_BYTES + 1, channel: 1 })],
  ['flags', framed([1], { flags: 0x80000000 })],
  ['an offset', framed([1], { upperOffset: 1 })],
  ['an offset far beyond 4 GiB', framed([1], { upperOffset: 2 ** 24 })],
  ['an offset of 16 MiB', framed([1]).with(12, 1)],
  ['text', new TextEncoder().encode('HTTP/1.1 400 Bad Request\r\n')],
];
for (const [what, frame] of HEADERS) {
  test(`a header with ${what} is a violation, and the frames before it are delivered`, () => {
    const good = framed([1, 2]);
    const stream = join(good, frame);
    for (let size = 1; size <= stream.length; size += 1) {
      const delivered: number[][] = [];
      const framer = new Framer();
      assert.throws(() => {
        for (const chunk of chunksOf(stream, size))
          framer.push(chunk, ({ bytes }, start, end) => delivered.push([...bytes.subarray(start, end)]));
      }, WireError);
      assert.deepEqual(delivered, [[1, 2]]);
    }
  });
}

test('a frame of the largest length is waited for without allocating its memory', () => {
  const bytesBefore = process.memoryUsage().arrayBuffers;
  const framers = Array.from({ length: 200 }, () => {
    const framer = new Framer();
    framer.push(framed([0x4c, 2, 3], { length: PAYLOAD_MAX_BYTES }), () => assert.fail());
    return framer;
  });
  const allocatedBytes = process.memoryUsage().arrayBuffers - bytesBefore;
  // The message uses `framers`, so that none of them is collected before the memory is read.
  assert.ok(allocatedBytes < PAYLOAD_MAX_BYTES, `${framers.length} framers`);
});
