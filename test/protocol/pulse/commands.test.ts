// Compares the requests with literal bytes from the protocol's description. Only CREATE_RECORD_STREAM is
// tested elsewhere, in golden.test.ts. That file also tests the error codes in the table of outcome.ts, and
// this file tests codes that the table does not have.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RequestArgs, RequestName } from '../../../src/protocol/pulse/commands.js';
import { serverFault } from '../../../src/protocol/pulse/outcome.js';
import { AUDIO_MASK, decodeEvent } from '../../../src/protocol/pulse/subscription.js';
import { negotiate, WireError } from '../../../src/protocol/pulse/wire.js';
import { reply, u32 } from './bytes.js';
import { converse, ready, written } from './conversation.js';
import { PEAKS } from './record-stream.js';

const bytesOf = (hex: string): number[] => [...Buffer.from(hex.replaceAll(/[^0-9a-f]/g, ''), 'hex')];
/** The header after the length of the payload: control channel, no offset, no flags. */
const HEADER = 'ffffffff 00000000 00000000 00000000';
/**
 * The absent text. Some requests have it after an index, because they could name the object instead. It is
 * also the end of a property list.
 */
const NULL = '4e';
/**
 * A request with tag 2. `length` is that of its payload, which begins after `HEADER`. Each field begins with
 * its type tag: 4c for a number, 74 for a text, 76 for volumes, 78 for bytes, 50 for a property list. 30 is
 * false, and 31 is true.
 */
const frameOf = (length: string, command: string, fields = ''): string =>
  `${length} ${HEADER} 4c ${command} 4c 00000002 ${fields}`;

/** A request and its bytes. The type of `args` depends on `command`, such as `{}` for GET_SERVER_INFO. */
type Row = { [C in RequestName]: readonly [command: C, args: RequestArgs<C>, hex: string] }[RequestName];
const ROWS: readonly Row[] = [
  ['DELETE_RECORD_STREAM', { stream: 7 }, frameOf('0000000f', '00000006', '4c 00000007')],
  ['GET_SERVER_INFO', {}, frameOf('0000000a', '00000014')],
  ['GET_SINK_INFO', { index: 3 }, frameOf('00000010', '00000015', `4c 00000003 ${NULL}`)],
  ['GET_SINK_INFO_LIST', {}, frameOf('0000000a', '00000016')],
  ['GET_SOURCE_INFO', { index: 3 }, frameOf('00000010', '00000017', `4c 00000003 ${NULL}`)],
  ['GET_SOURCE_INFO_LIST', {}, frameOf('0000000a', '00000018')],
  ['GET_MODULE_INFO', { index: 3 }, frameOf('0000000f', '00000019', '4c 00000003')],
  ['GET_MODULE_INFO_LIST', {}, frameOf('0000000a', '0000001a')],
  ['GET_SINK_INPUT_INFO', { index: 0x01020304 }, frameOf('0000000f', '0000001d', '4c 01020304')],
  ['GET_SINK_INPUT_INFO_LIST', {}, frameOf('0000000a', '0000001e')],
  ['GET_SOURCE_OUTPUT_INFO_LIST', {}, frameOf('0000000a', '00000020')],
  // The mask has the bits of sinks (1), sources (2), sink inputs (4), the server (0x80) and cards (0x200).
  ['SUBSCRIBE', { mask: AUDIO_MASK }, frameOf('0000000f', '00000023', '4c 00000287')],
  [
    'SET_SINK_VOLUME',
    { index: 1, volume: [0x10000, 0x8000] },
    frameOf('0000001a', '00000024', `4c 00000001 ${NULL} 76 02 00010000 00008000`),
  ],
  [
    'SET_SINK_INPUT_VOLUME',
    { index: 9, volume: [0x7fffffff] },
    frameOf('00000015', '00000025', '4c 00000009 76 01 7fffffff'),
  ],
  [
    'SET_SOURCE_VOLUME',
    { index: 1, volume: [0x10000] },
    frameOf('00000016', '00000026', `4c 00000001 ${NULL} 76 01 00010000`),
  ],
  ['SET_SOURCE_MUTE', { index: 1, muted: true }, frameOf('00000011', '00000028', `4c 00000001 ${NULL} 31`)],
  ['SET_DEFAULT_SOURCE', { name: 'a' }, frameOf('0000000d', '0000002d', '74 6100')],
  ['LOAD_MODULE', { name: 'a', argument: 'b=c' }, frameOf('00000012', '00000033', '74 6100 74 623d6300')],
  ['UNLOAD_MODULE', { index: 7 }, frameOf('0000000f', '00000034', '4c 00000007')],
  [
    'SET_PLAYBACK_STREAM_NAME',
    { stream: 7, name: 'a' },
    frameOf('00000012', '0000002e', '4c 00000007 74 6100'),
  ],
  ['SET_SINK_MUTE', { index: 1, muted: true }, frameOf('00000011', '00000027', `4c 00000001 ${NULL} 31`)],
  ['SET_DEFAULT_SINK', { name: 'küche' }, frameOf('00000012', '0000002c', '74 6b c3bc 63 68 65 00')],
  [
    'MOVE_SINK_INPUT',
    { index: 5, sink: 2 },
    frameOf('00000015', '00000043', `4c 00000005 4c 00000002 ${NULL}`),
  ],
  ['SET_SINK_INPUT_MUTE', { index: 5, muted: false }, frameOf('00000010', '00000045', '4c 00000005 30')],
  ['GET_CARD_INFO', { index: 3 }, frameOf('00000010', '00000058', `4c 00000003 ${NULL}`)],
  ['GET_CARD_INFO_LIST', {}, frameOf('0000000a', '00000059')],
  [
    'SET_CARD_PROFILE',
    { index: 1, profile: 'a' },
    frameOf('00000013', '0000005a', `4c 00000001 ${NULL} 74 6100`),
  ],
  ['SET_SINK_PORT', { index: 1, port: 'a' }, frameOf('00000013', '00000060', `4c 00000001 ${NULL} 74 6100`)],
  [
    'SET_SOURCE_PORT',
    { index: 1, port: 'a' },
    frameOf('00000013', '00000061', `4c 00000001 ${NULL} 74 6100`),
  ],
];
/** The time at which sessions begin and requests are made. No time passes in this file. */
const NOW_MS = 0;

for (const [command, args, hex] of ROWS) {
  test(`${command} is sent as the protocol describes it`, () => {
    const { session } = ready();
    session.request(command, args as RequestArgs<typeof command>, NOW_MS, () => assert.fail());
    assert.deepEqual(written(session), bytesOf(hex));
  });
}

test('AUTH offers version 35 with clear flags and 256 bytes of cookie', () => {
  const cookie = Uint8Array.from({ length: 256 }, (_, index) => index);
  const { session } = converse({ cookie });
  session.open(NOW_MS);
  const expected = `00000114 ${HEADER} 4c 00000008 4c 00000000 4c 00000023 78 00000100`;
  assert.deepEqual(written(session), [...bytesOf(expected), ...cookie]);
});

/** The bytes of the header, command and tag of a request. */
const HEAD_BYTES = 20 + 5 + 5;
/** The cookie's bytes follow the head, the version, and the cookie's own type tag and length. */
const COOKIE_START = HEAD_BYTES + 5 + 5;

for (const [what, cookie] of [
  ['no cookie', undefined],
  ['an empty cookie', new Uint8Array(0)],
  ['a cookie of 300 bytes', new Uint8Array(300).fill(7)],
] as const) {
  test(`AUTH with ${what} sends 256 zeros as the cookie`, () => {
    const { session } = converse({ cookie });
    session.open(NOW_MS);
    const bytes = written(session);
    assert.equal(bytes.length, COOKIE_START + 256);
    assert.deepEqual(bytes.slice(COOKIE_START), new Array(256).fill(0));
  });
}

test('SET_CLIENT_NAME has the properties, each value with a final NUL', () => {
  const { session } = converse({ clientProps: { 'a.b': 'é', c: '' } });
  session.open(NOW_MS);
  session.takeOutput();
  const replyToAuth = reply(0, u32(35));
  session.receive(replyToAuth);
  const first = '74 612e6200 4c 00000003 78 00000003 c3a900';
  const second = '74 6300 4c 00000001 78 00000001 00';
  const head = `0000002c ${HEADER} 4c 00000009 4c 00000001`;
  assert.deepEqual(written(session), bytesOf(`${head} 50 ${first} ${second} ${NULL}`));
});

const BAD_ARGUMENTS: readonly (readonly [
  what: string,
  request: readonly [command: RequestName, args: object],
])[] = [
  ['an index that is no number', ['GET_SINK_INFO', { index: Number.NaN }]],
  ['a negative index', ['GET_SINK_INFO', { index: -1 }]],
  ['an index over 32 bits', ['MOVE_SINK_INPUT', { index: 1, sink: 2 ** 32 }]],
  ['a name with a NUL', ['SET_DEFAULT_SINK', { name: 'a\0b' }]],
  ['no channel', ['SET_SINK_VOLUME', { index: 1, volume: [] }]],
  ['33 channels', ['SET_SINK_VOLUME', { index: 1, volume: new Array(33).fill(1) }]],
  ['a volume above the largest one of the protocol', ['SET_SINK_VOLUME', { index: 1, volume: [0xffffffff] }]],
  ['a channel position over a byte', ['CREATE_RECORD_STREAM', { ...PEAKS, channelMap: [256] }]],
  ['a sample spec without a rate', ['CREATE_RECORD_STREAM', { ...PEAKS, sampleSpec: { format: 5 } }]],
  ['a volume with a fraction', ['SET_SINK_VOLUME', { index: 1, volume: [0.5] }]],
];
for (const [what, [command, args]] of BAD_ARGUMENTS) {
  test(`${what} is refused by the encoder, and nothing is sent`, () => {
    const { session, closed } = ready();
    const errors: string[] = [];
    session.request(command, args as never, NOW_MS, (result) =>
      errors.push(result.ok ? 'ok' : result.error.kind),
    );
    assert.deepEqual(errors, ['bad-argument']);
    assert.deepEqual(written(session), []);
    assert.deepEqual(closed, [], 'the session goes on');
    assert.equal(session.nextDeadline(), undefined);
  });
}

test('the requests of one turn are sent without the refused ones, also if one buffer is too small for all', () => {
  const { session } = ready();
  const setDefaultSink = (name: string): void =>
    session.request('SET_DEFAULT_SINK', { name }, NOW_MS, () => undefined);
  // A buffer of writer.ts has 8192 bytes, so a second name of this length does not fit.
  const name = 'n'.repeat(5_000);
  const refusedName = 'a\0b';
  setDefaultSink(name);
  const frame = written(session);
  const names = [refusedName, name, refusedName, name, name, refusedName];
  for (const nextName of names) setDefaultSink(nextName);
  const bytes = written(session);

  // Three names are not refused. Their frames differ from the first frame only in the last byte of the tag,
  // so each gets the tag of the first frame.
  const lastTagByte = HEAD_BYTES - 1;
  const frames = [0, 1, 2].map((index) =>
    bytes.slice(index * frame.length, (index + 1) * frame.length).with(lastTagByte, 2),
  );
  assert.deepEqual(frames, [frame, frame, frame]);
  assert.equal(bytes.length, 3 * frame.length);
});

// 0x0a and 0x0f have a facility after the last one, 0x30 has the type 3, and each of the others has bits
// above the type (subscription.ts).
for (const word of [0x0a, 0x0f, 0x30, 0x40, 0x100, 0x80000000, 0xffffffff])
  test(`the word 0x${word.toString(16)} is no event`, () =>
    assert.throws(() => decodeEvent(word, 1), WireError));

/** The lower half of a word has the server's version. The upper half has flags of shared memory. */
const VERSIONS: readonly (readonly [word: number, expected: number | undefined])[] = [
  [35, 35],
  [32, 32],
  [36, 35],
  [0xc0000000 + 35, 35],
  [31, undefined],
  // This word has a flag, and version 0.
  [0x80000000, undefined],
];
for (const [word, expected] of VERSIONS) {
  const outcome = expected === undefined ? 'is refused' : `is spoken to in version ${expected}`;
  test(`a server that answers the version word ${word} ${outcome}`, () =>
    assert.equal(negotiate(word), expected));
}

test('an error code that is in no table has the name UNLISTED', () => {
  const firstUnlisted = 27;
  for (const code of [firstUnlisted, 0xffffffff])
    assert.deepEqual(serverFault(code), { code, name: 'UNLISTED', meaning: `error ${code}` });
});
