// A trace of messages that are in no table, of malformed ones, of secrets and of shared memory. Nothing
// throws.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TextCache } from '../../../../src/protocol/pulse/text-cache.js';
import * as trace from '../../../../src/protocol/pulse/trace/conversation.js';
import { SEED, SeededRandom } from '../../../seeded-random.js';
import * as wire from '../bytes.js';
import { GOLDEN } from '../captures.js';

const HEADER = 20;
const AUTH = 8;
const GET_SINK_INFO = 21;
const UNKNOWN = 200;

const conversation = () => new trace.Conversation(new TextCache());
const read = (...args: Parameters<typeof wire.command>) =>
  conversation().read('client', Buffer.from(wire.command(...args)));

test('an unknown command is shown value by value, each under its type', () => {
  const { command, fields, unnamed, problem } = read(
    UNKNOWN,
    5,
    wire.u32(7),
    wire.text('x'),
    wire.text(null),
    [0x31],
    wire.usec(0, 3),
    wire.map(1, 2),
    wire.volumes(65536),
    wire.spec(3, 2, 44100),
    wire.blob([1, 2, 3]),
    wire.props(wire.textProp('k', 'v')),
    [0x72, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfe],
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

test('a message that ends early names what is missing, and one that goes on has the rest by type', () => {
  const early = read(GET_SINK_INFO, 1, wire.u32(3));
  assert.deepEqual(early.fields, { index: 3 });
  assert.equal(early.problem, 'name is missing: this is the end of the frame');
  const late = read(GET_SINK_INFO, 1, wire.u32(3), wire.text('x'), wire.u32(0xffffffff));
  assert.deepEqual(late.fields, { index: 3, name: 'x' });
  assert.deepEqual([late.unnamed, late.problem], [[{ type: 'u32', value: null }], undefined]);
});

test('bytes that are no value are counted', () => {
  const { unnamed, problem } = read(UNKNOWN, 5, wire.u32(7), [0xfe, 1, 2, 3]);
  assert.deepEqual([unnamed, problem], [[{ type: 'u32', value: 7 }], '4 bytes more, from byte 0xfe on']);
});

const COOKIE = Array.from({ length: 256 }, (_, at) => 0x41 + (at % 26));
const SECRET = String.fromCharCode(...COOKIE.slice(0, 8));

for (const [what, fields] of [
  ['as it should be', [wire.u32(35), wire.blob(COOKIE)]],
  ['a text', [wire.u32(35), [0x74, ...COOKIE, 0]]],
  ['properties', [wire.u32(35), wire.props(wire.prop('cookie', COOKIE))]],
  ['in front of the version', [[0x74, ...COOKIE, 0], wire.u32(35)]],
  ['twice', [wire.u32(35), wire.blob(COOKIE), [0x74, ...COOKIE, 0]]],
  ['cut off', [wire.u32(35), wire.blob(COOKIE).slice(0, 99)]],
] as const) {
  test(`a cookie is not shown: ${what}`, () => {
    const decoded = read(AUTH, 0, ...fields);
    assert.equal(decoded.command, 'AUTH');
    assert.ok(!JSON.stringify(decoded).includes(SECRET));
    const isUsual = what === 'as it should be';
    assert.equal(decoded.fields['cookie'], isUsual ? '256 bytes' : undefined);
    assert.equal(decoded.problem === undefined, isUsual);
  });
}

const SHM = 0x80000000;
const MEMFD = 0x40000000;
const auth = (version: number) =>
  Buffer.from(wire.command(AUTH, 0, wire.u32(version >>> 0), wire.blob(COOKIE)));
const answer = (version: number): Buffer => Buffer.from(wire.reply(0, wire.u32(version >>> 0)));

test('shared memory is declined in AUTH and in its reply, and nothing else is changed', () => {
  const one = conversation();
  for (const [from, offer, passed, declined] of [
    ['client', auth(SHM | MEMFD | 35), auth(35), ['shm', 'memfd']],
    ['server', answer(SHM | 35), answer(35), ['shm']],
    ['server', answer(SHM | 35), answer(SHM | 35), []],
  ] as const) {
    assert.deepEqual(one.read(from, offer).declined, declined);
    assert.deepEqual(offer, passed);
  }
});

test('a cookie is not kept, nor is anything else in its place', () => {
  const frame = auth(35);
  const at = frame.indexOf(Buffer.from(COOKIE));
  assert.deepEqual(trace.withoutCookie(frame), Buffer.from(frame).fill(0, at, at + COOKIE.length));
  assert.deepEqual(frame, auth(35));
  const text = [0x74, ...COOKIE, 0];
  for (const version of [wire.u32(35), wire.text('x')]) {
    const wrong = wire.command(AUTH, 0, version, text);
    const kept = trace.withoutCookie(Buffer.from(wrong));
    assert.equal(kept.length, wrong.length);
    assert.ok(!kept.includes(Buffer.from(COOKIE.slice(8, 12))));
  }
  const other = Buffer.from(wire.command(20, 1, text));
  assert.deepEqual(trace.withoutCookie(other), other);
});

test('the kept frames are listed with number and tag, and audio data with its place', () => {
  assert.deepEqual(trace.commandAndTagOf(auth(35)), { command: AUTH, tag: 0 });
  const data = Buffer.from(wire.framed(Array(100).fill(0xaa), { channel: 2, offset: 1, flags: 1 }));
  assert.deepEqual(trace.audioBlockOf(data, 2), {
    channel: 2,
    offset: 2 ** 32,
    length: 100,
    seek: 'absolute',
  });
});

test('the requests that wait for a reply are bounded', () => {
  const one = conversation();
  for (let tag = 0; tag < 5000; tag += 1) one.read('client', Buffer.from(wire.command(20, tag)));
  const answers = [0, 903, 904, 4999].map((tag) => one.read('server', Buffer.from(wire.reply(tag))).answers);
  assert.deepEqual(answers, [undefined, undefined, 'GET_SERVER_INFO', 'GET_SERVER_INFO']);
});

test(`no bytes make it throw, seed ${SEED}`, () => {
  const random = new SeededRandom(SEED);
  const frames = GOLDEN.files.filter(({ bytes }) => bytes < 5000).map((capture) => GOLDEN.read(capture));
  for (let round = 0; round < 3000; round += 1) {
    const one = conversation();
    const bytes = Buffer.from(frames[random.below(frames.length)] ?? []);
    for (let change = random.below(8); change > 0; change -= 1)
      bytes[HEADER + random.below(bytes.length - HEADER)] = random.below(256);
    // A request that makes the tables read it as a reply.
    one.read('client', Buffer.from(wire.command(random.below(105), 2, wire.u32(random.below(40)))));
    const end = random.chance(0.5) ? bytes.length : HEADER + random.below(bytes.length - HEADER);
    for (const from of ['client', 'server'] as const) JSON.stringify(one.read(from, bytes.subarray(0, end)));
    trace.withoutCookie(bytes.subarray(0, end));
  }
});
