// The check of a message's bytes: it accepts what a bus writes, and says no to anything else in finite time.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  checkRest,
  HEADER_BYTES,
  MalformedMessage,
  MESSAGE_MAX_BYTES,
  readHeader,
} from '../../src/actors/bus-bytes.js';
import { errorReply, messageBytes, reply, signal, signature, text } from './bus-script.js';

function check(bytes: Buffer): void {
  const header = readHeader(bytes.subarray(0, HEADER_BYTES));
  assert.equal(header.restBytes, bytes.length - HEADER_BYTES);
  checkRest(header, bytes.subarray(HEADER_BYTES));
}

function bytes(...values: number[]): Buffer {
  return Buffer.from(values);
}

/** A dictionary with one entry: `key` -> variant of the boolean true. */
const DICTIONARY = Buffer.concat([
  bytes(16, 0, 0, 0, 0, 0, 0, 0),
  text('key'),
  signature('b'),
  bytes(0),
  bytes(1, 0, 0, 0),
]);

const SOUND: readonly (readonly [what: string, message: Buffer])[] = [
  ['a reply without body', reply(7)],
  ['a string', reply(7, 's', text('hello'))],
  ['an error', errorReply(7, 'a.b', 'text')],
  ['a signal', signal(':1.5', 'a.b', 'C', 'g', signature('a{sv}'))],
  ['an empty array of strings', reply(7, 'as', bytes(0, 0, 0, 0))],
  [
    'an empty array of structs, which is padded all the same',
    reply(7, 'a(sv)', bytes(0, 0, 0, 0, 0, 0, 0, 0)),
  ],
  ['bytes', reply(7, 'ay', bytes(3, 0, 0, 0, 1, 2, 3))],
  ['a struct', reply(7, '(uo)', Buffer.concat([bytes(9, 0, 0, 0), text('/')]))],
  ['a 64-bit integer behind a byte', reply(7, 'yt', bytes(1, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8))],
  ['a variant in a variant', reply(7, 'v', bytes(1, 0x76, 0, 1, 0x79, 0, 5))],
  ['a dictionary', reply(7, 'a{sv}', DICTIONARY)],
];

for (const [what, message] of SOUND) {
  test(`${what} passes`, () => check(message));
}

const NESTED = Buffer.concat([...Array.from({ length: 80 }, () => bytes(1, 0x76, 0)), bytes(1, 0x79, 0, 5)]);

const BROKEN: readonly (readonly [what: string, message: Buffer, reason: RegExp])[] = [
  ['a body without signature', messageBytes(2, [[5, 'u', 1]], bytes(1)), /behind the body/],
  ['bytes behind the body', reply(7, 'y', bytes(1, 2)), /behind the body/],
  ['a missing value', reply(7, 'yy', bytes(1)), /too short/],
  ['a string beyond the end', reply(7, 's', bytes(9, 0, 0, 0, 0x61, 0)), /too short/],
  ['a string without NUL', reply(7, 's', bytes(1, 0, 0, 0, 0x61, 0x61)), /without its end/],
  ['an array beyond the end', reply(7, 'ay', bytes(255, 255, 255, 255)), /longer than the message/],
  [
    'an array that ends inside an element',
    reply(7, 'au', bytes(6, 0, 0, 0, 1, 2, 3, 4, 5, 6)),
    /inside an element|too short/,
  ],
  [
    'an empty struct',
    reply(7, 'a()', bytes(8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)),
    /bad signature/,
  ],
  ['a struct without end', reply(7, '(s', text('x')), /bad signature/],
  ['a dictionary entry outside an array', reply(7, '{ss}', text('x')), /bad signature/],
  ['a file descriptor', reply(7, 'h', bytes(0, 0, 0, 0)), /bad signature/],
  ['an array of nothing known', reply(7, 'aZ', bytes(0, 0, 0, 0)), /bad signature/],
  ['a variant of two values', reply(7, 'v', bytes(2, 0x79, 0x79, 0, 1, 2)), /bad variant/],
  ['an empty variant', reply(7, 'v', bytes(0, 0)), /bad signature/],
  ['variants nested too deep', reply(7, 'v', NESTED), /too deep/],
  ['arrays nested too deep', reply(7, 'a'.repeat(200), bytes(0, 0, 0, 0)), /bad signature/],
];

for (const [what, message, reason] of BROKEN) {
  test(`${what} does not pass`, () => {
    assert.throws(
      () => check(message),
      (error) => error instanceof MalformedMessage && reason.test(error.message),
    );
  });
}

test('a length over the limit, no fields, and another protocol are seen in the header', () => {
  const header = (change: (bytes: Buffer) => void): Buffer => {
    const head = Buffer.from(reply(7).subarray(0, HEADER_BYTES));
    change(head);
    return head;
  };
  const broken = [
    header((head) => head.writeUInt32LE(MESSAGE_MAX_BYTES, 4)),
    header((head) => head.writeUInt32LE(0xffffffff, 4)),
    header((head) => head.writeUInt32LE(0xffffffff, 12)),
    header((head) => head.writeUInt32LE(0, 12)),
    header((head) => head.writeUInt8(0x58, 0)),
    header((head) => head.writeUInt8(2, 3)),
  ];
  for (const head of broken) assert.throws(() => readHeader(head), MalformedMessage);
});

test('big-endian lengths are read as such', () => {
  const head = Buffer.from([0x42, 2, 0, 1, 0, 0, 0, 5, 0, 0, 0, 1, 0, 0, 0, 9]);
  assert.deepEqual(readHeader(head), { littleEndian: false, fieldsBytes: 9, bodyBytes: 5, restBytes: 21 });
});

/** A small generator (xorshift), so that a failure can be had again. */
function numbers(seed: number): () => number {
  let state = seed;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return state >>> 0;
  };
}

test('any damage ends in a verdict, and no other error', () => {
  const next = numbers(20);
  for (let round = 0; round < 20_000; round += 1) {
    const [, whole] = SOUND[next() % SOUND.length] ?? ['', reply(1)];
    const damaged = Buffer.from(whole);
    for (let times = 1 + (next() % 4); times > 0; times -= 1)
      damaged[next() % damaged.length] = next() & 0xff;
    try {
      const header = readHeader(damaged);
      if (header.restBytes === damaged.length - HEADER_BYTES)
        checkRest(header, damaged.subarray(HEADER_BYTES));
    } catch (error) {
      if (!(error instanceof MalformedMessage)) throw error;
    }
  }
});
