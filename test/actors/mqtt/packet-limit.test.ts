// Tests the lengths of packets, whole and in pieces.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PACKET_BYTES_MAX, PacketLimit } from '../../../src/actors/mqtt/packet-limit.js';

function packet(length: number): Buffer {
  const head = [0x30];
  for (let left = length; ; left = Math.floor(left / 128)) {
    const more = left >= 128;
    head.push((left % 128) + (more ? 128 : 0));
    if (!more) break;
  }
  return Buffer.concat([Buffer.from(head), Buffer.alloc(length, 0xff)]);
}

const FINE = Buffer.concat([packet(0), packet(1), packet(127), packet(128), packet(20_000), packet(2)]);

for (const size of [1, 2, 3, 100, FINE.length]) {
  test(`packets within the limit pass, in pieces of ${size}`, () => {
    const limit = new PacketLimit();
    for (let at = 0; at < FINE.length; at += size) assert.ok(limit.passes(FINE.subarray(at, at + size)));
  });
}

test('the largest packet passes, and one byte more is refused by its head alone', () => {
  assert.ok(new PacketLimit().passes(packet(PACKET_BYTES_MAX)));
  assert.ok(!new PacketLimit().passes(packet(PACKET_BYTES_MAX + 1).subarray(0, 5)));
});

test('a packet length of more than four bytes is invalid', () => {
  assert.ok(!new PacketLimit().passes(Buffer.from([0x30, 0x80, 0x80, 0x80, 0x80, 0x01])));
});
