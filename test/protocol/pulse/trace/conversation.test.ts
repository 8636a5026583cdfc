// Tests the trace of unknown and malformed messages, of the cookie, and of shared memory. Tests also that no
// bytes make the trace throw.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TextCache } from '../../../../src/protocol/pulse/text-cache.js';
import * as trace from '../../../../src/protocol/pulse/trace/conversation.js';
import { SEED, SeededRandom } from '../../../seeded-random.js';
import * as wire from '../bytes.js';
import { GOLDEN } from '../captures.js';

const HEADER_BYTES = 20;
const AUTH = 8;
const GET_SERVER_INFO = 20;
const GET_SINK_INFO = 21;
const UNKNOWN = 200;

const newConversation = () => new trace.Conversation(new TextCache());
const readCommand = (code: number, tag: number, ...fields: wire.Bytes[]) =>
  newConversation().read('client', Buffer.from(wire.command(code, tag, ...fields)));

test('the trace of an unknown command lists its values, each with its type', () => {
  const s64MinusTwo = [0x72, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfe];
  const { command, fields, unnamed, problem } = readCommand(
    UNKNOWN,
    5,
    wire.u32(7),
    wire.text('x'),
    wire.text(null),
    wire.bool(true),
    wire.usec(0, 3),
    wire.map(1, 2),
    wire.volumes(65536),
    wire.spec(3, 2, 44100),
    wire.blob([1, 2, 3]),
    wire.props(wire.textProp('k', 'v')),
    s64MinusTwo,
  );
  assert.deepEqual([command, fields, problem], [UNKNOWN, {}, undefined]);
  assert.deepEqual(JSON.parse(JSON.stringify(unnamed)), [
    { type: 'u32', value: 7 },
    { type: 'text', value: 'x' },
    { type: 'text', value: null },
    { type: 'bool', value: true },
    { type: 'usec', value: 3 },
    { type: 'channelMap', value: ['front-left', 'front-right'] },
    { type: 'volumes', value: [65536] },
    { type: 'sampleSpec', value: { format: 's16le', channels: 2, rate: 44100 } },
    { type: 'bytes', value: '3 bytes' },
    { type: 'props', value: { k: 'v' } },
    { type: 's64', value: -2 },
  ]);
});

test('the trace of a message that is too short names the missing field', () => {
  const tooShort = readCommand(GET_SINK_INFO, 1, wire.u32(3));
  assert.deepEqual(tooShort.fields, { index: 3 });
  assert.equal(tooShort.problem, 'name is missing: this is the end of the frame');
});

test('the trace of a message that is too long lists the further values with their types', () => {
  const tooLong = readCommand(GET_SINK_INFO, 1, wire.u32(3), wire.text('x'), wire.u32(0xffffffff));
  assert.deepEqual(tooLong.fields, { index: 3, name: 'x' });
  // The trace has null for 0xffffffff, which means "none" in most fields.
  assert.deepEqual([tooLong.unnamed, tooLong.problem], [[{ type: 'u32', value: null }], undefined]);
});

test('bytes that are no value are counted', () => {
  const { unnamed, problem } = readCommand(UNKNOWN, 5, wire.u32(7), [0xfe, 1, 2, 3]);
  assert.deepEqual([unnamed, problem], [[{ type: 'u32', value: 7 }], '4 bytes more, from byte 0xfe on']);
});

const COOKIE = Array.from({ length: 256 }, (_, index) => 0x41 + (index % 26));
const SECRET = String.fromCharCode(...COOKIE.slice(0, 8));
/** The type tag of a text, the cookie, and the 0 that ends a text. */
const COOKIE_AS_TEXT = [0x74, ...COOKIE, 0];

for (const [form, fields] of [
  ['in the usual form', [wire.u32(35), wire.blob(COOKIE)]],
  ['as a text', [wire.u32(35), COOKIE_AS_TEXT]],
  ['as properties', [wire.u32(35), wire.props(wire.prop('cookie', COOKIE))]],
  ['in front of the version', [COOKIE_AS_TEXT, wire.u32(35)]],
  ['twice', [wire.u32(35), wire.blob(COOKIE), COOKIE_AS_TEXT]],
  ['cut off', [wire.u32(35), wire.blob(COOKIE).slice(0, 99)]],
] as const) {
  test(`a cookie that is sent ${form} is not in the trace`, () => {
    const decoded = readCommand(AUTH, 0, ...fields);
    assert.equal(decoded.command, 'AUTH');
    assert.ok(!JSON.stringify(decoded).includes(SECRET));
    // An AUTH of another form is traced without its values, because each of them may be the cookie.
    const isUsual = form === 'in the usual form';
    assert.equal(decoded.fields['cookie'], isUsual ? '256 bytes' : undefined);
    assert.equal(decoded.problem === undefined, isUsual);
  });
}

const SHARED_MEMORY_FLAG = 0x80000000;
const MEMFD_FLAG = 0x40000000;
/**
 * A version word has the version, and perhaps flags of shared memory. The result of `|` may be negative, and
 * `>>> 0` makes it positive again.
 */
const authFrame = (versionWord: number) =>
  Buffer.from(wire.command(AUTH, 0, wire.u32(versionWord >>> 0), wire.blob(COOKIE)));
const replyFrame = (versionWord: number): Buffer => Buffer.from(wire.reply(0, wire.u32(versionWord >>> 0)));

test('shared memory is declined in AUTH and in its reply, and nothing else is changed', () => {
  const conversation = newConversation();
  for (const [from, frame, expected, declined] of [
    ['client', authFrame(SHARED_MEMORY_FLAG | MEMFD_FLAG | 35), authFrame(35), ['shm', 'memfd']],
    ['server', replyFrame(SHARED_MEMORY_FLAG | 35), replyFrame(35), ['shm']],
    // AUTH has had its reply, so this second reply answers no known request, and stays as it is.
    ['server', replyFrame(SHARED_MEMORY_FLAG | 35), replyFrame(SHARED_MEMORY_FLAG | 35), []],
  ] as const) {
    assert.deepEqual(conversation.read(from, frame).declined, declined);
    assert.deepEqual(frame, expected, 'the bytes are changed in place');
  }
});

/**
 * The byte values of the cookie. The malformed frames below have them only in the cookie. `L` is left out,
 * because it is also the type tag of a u32.
 */
const COOKIE_VALUES = new Set(COOKIE.filter((byte) => byte !== 'L'.charCodeAt(0)));

test('withoutCookie returns AUTH in any form without the cookie, and another command unchanged', () => {
  const frame = authFrame(35);
  const cookieStart = frame.indexOf(Buffer.from(COOKIE));
  assert.deepEqual(
    trace.withoutCookie(frame),
    Buffer.from(frame).fill(0, cookieStart, cookieStart + COOKIE.length),
  );
  assert.deepEqual(frame, authFrame(35));
  // A blob is the tag 0x78, the length in four bytes (here 256), and the bytes.
  const cookieAsBytes = [0x78, 0, 0, 1, 0, ...COOKIE];
  const cookieWithoutLength = [0x78, ...COOKIE];
  for (const malformed of [
    wire.command(AUTH, 0, wire.u32(35), COOKIE_AS_TEXT),
    wire.command(AUTH, 0, wire.text('x'), COOKIE_AS_TEXT),
    wire.command(AUTH, 0, COOKIE_AS_TEXT, wire.u32(35)),
    wire.command(AUTH, 0, cookieAsBytes, wire.u32(35)),
    wire.command(AUTH, 0, wire.u32(35), cookieWithoutLength),
    // The tag of the request is missing.
    wire.framed([...wire.u32(AUTH), ...COOKIE_AS_TEXT]),
  ]) {
    const kept = trace.withoutCookie(Buffer.from(malformed));
    assert.equal(kept.length, malformed.length);
    const keptOfCookie = [...kept.subarray(HEADER_BYTES)].filter((byte) => COOKIE_VALUES.has(byte));
    assert.deepEqual(keptOfCookie, []);
  }
  const otherCommand = Buffer.from(wire.command(GET_SERVER_INFO, 1, COOKIE_AS_TEXT));
  assert.deepEqual(trace.withoutCookie(otherCommand), otherCommand);
});

test('the trace finds the code and the tag of a command, and the header of a frame with audio data', () => {
  assert.deepEqual(trace.commandAndTagOf(authFrame(35)), { command: AUTH, tag: 0 });
  const channel = 2;
  // `framed` takes the upper word of the offset, so 1 stands for 2 ** 32. Flag 1 is the seek `absolute`.
  const data = Buffer.from(wire.framed(Array(100).fill(0xaa), { channel, upperOffset: 1, flags: 1 }));
  assert.deepEqual(trace.audioBlockOf(data, channel), {
    channel,
    offset: 2 ** 32,
    length: 100,
    seek: 'absolute',
  });
});

test('the trace remembers a bounded number of requests that wait for a reply', () => {
  const conversation = newConversation();
  for (let tag = 0; tag < 5000; tag += 1)
    conversation.read('client', Buffer.from(wire.command(GET_SERVER_INFO, tag)));
  // The newest 4096 requests are remembered (PENDING_MAX in conversation.ts): those with tags 904 to 4999.
  const answers = [0, 903, 904, 4999].map(
    (tag) => conversation.read('server', Buffer.from(wire.reply(tag))).answers,
  );
  assert.deepEqual(answers, [undefined, undefined, 'GET_SERVER_INFO', 'GET_SERVER_INFO']);
});

test(`no bytes make the trace throw, seed ${SEED}`, () => {
  const random = new SeededRandom(SEED);
  const frames = GOLDEN.files.filter(({ bytes }) => bytes < 5000).map((capture) => GOLDEN.read(capture));
  for (let round = 0; round < 3000; round += 1) {
    const conversation = newConversation();
    const bytes = Buffer.from(frames[random.below(frames.length)] ?? []);
    for (let change = random.below(8); change > 0; change -= 1)
      bytes[HEADER_BYTES + random.below(bytes.length - HEADER_BYTES)] = random.below(256);
    // Most captured replies have tag 2. The random request has the same tag, so such a reply answers it.
    // There are 105 commands. For AUTH the random field is the version, and only versions 32 to 35 are known.
    const randomCode = random.below(105);
    const randomField = wire.u32(random.below(40));
    conversation.read('client', Buffer.from(wire.command(randomCode, 2, randomField)));
    const end = random.chance(0.5) ? bytes.length : HEADER_BYTES + random.below(bytes.length - HEADER_BYTES);
    for (const from of ['client', 'server'] as const)
      JSON.stringify(conversation.read(from, bytes.subarray(0, end)));
    trace.withoutCookie(bytes.subarray(0, end));
  }
});
