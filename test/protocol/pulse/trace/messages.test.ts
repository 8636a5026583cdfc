// The trace's tables: they agree with the daemon's, with captures of real servers, and with bytes built by hand for messages that no
// server here can be made to send.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { COMMANDS, FROM_SERVER } from '../../../../src/protocol/pulse/commands.js';
import { Reader } from '../../../../src/protocol/pulse/reader.js';
import { TextCache } from '../../../../src/protocol/pulse/text-cache.js';
import { Conversation, type DecodedMessage } from '../../../../src/protocol/pulse/trace/conversation.js';
import { MESSAGES } from '../../../../src/protocol/pulse/trace/messages.js';
import { NEWEST_VERSION } from '../../../../src/protocol/pulse/wire.js';
import * as wire from '../bytes.js';
import { GOLDEN } from '../captures.js';

const HEADER = 20;
const NONE = 0xffffffff;
const TAG = 7;
type Bytes = readonly number[];

const payload = (frame: Uint8Array): Uint8Array => frame.subarray(HEADER);
const numberOf = (name: string): number => MESSAGES.findIndex((each) => each.name === name);

/** A conversation in that protocol version. */
function speaking(version: number): Conversation {
  const conversation = new Conversation(new TextCache());
  conversation.read('client', payload(wire.command(numberOf('AUTH'), 0, wire.u32(version), wire.blob([]))));
  conversation.read('server', payload(wire.reply(0, wire.u32(version))));
  assert.equal(conversation.negotiated, Math.min(version, NEWEST_VERSION));
  return conversation;
}

/** Whole: named to its end. */
function assertWhole({ unnamed, problem, command }: DecodedMessage): void {
  assert.deepEqual([unnamed, problem], [[], undefined], String(command));
}

test('the numbers of commands are those of the protocol, as the daemon has them', () => {
  for (const [name, { code }] of Object.entries(COMMANDS)) assert.equal(MESSAGES[code]?.name, name);
  const others = Object.entries(FROM_SERVER).map(([name, code]) => [name, MESSAGES[code]?.name]);
  // Two have shorter names there.
  const ours: Readonly<Record<string, string>> = {
    PLAYBACK_STREAM_REQUEST: 'REQUEST',
    PLAYBACK_BUFFER_CHANGED: 'PLAYBACK_BUFFER_ATTR_CHANGED',
    RECORD_BUFFER_CHANGED: 'RECORD_BUFFER_ATTR_CHANGED',
  };
  assert.deepEqual(
    others,
    Object.keys(FROM_SERVER).map((name) => [name, ours[name] ?? name]),
  );
  // native-common.h of PulseAudio 17: the last before PA_COMMAND_MAX.
  assert.equal(MESSAGES.at(-1)?.name, 'SEND_OBJECT_MESSAGE');
  assert.equal(MESSAGES.length, 105);
  assert.equal(new Set(MESSAGES.map(({ name }) => name)).size, MESSAGES.length);
});

/** The requests that the captures answer, by their names; those that begin with the handshake answer that first. */
const ASKED: readonly (readonly [part: string, request: string])[] = [
  ['server-info', 'GET_SERVER_INFO'],
  ['sinks', 'GET_SINK_INFO_LIST'],
  ['sink-inputs', 'GET_SINK_INPUT_INFO_LIST'],
  ['sink-input-info', 'GET_SINK_INPUT_INFO'],
  ['peak-record', 'CREATE_RECORD_STREAM'],
  ['subscribe', 'SUBSCRIBE'],
];
const HANDSHAKE = ['AUTH', 'SET_CLIENT_NAME'];

for (const capture of GOLDEN.files) {
  test(`${capture.file}: every frame is named to its end`, () => {
    const conversation = speaking(capture.negotiated_version ?? 35);
    const bytes = GOLDEN.read(capture);
    const kind = ASKED.find(([part]) => capture.file.includes(`-${part}`))?.[1];
    const requests = capture.frames[0]?.tag === 0 ? [...HANDSHAKE, kind, 'DELETE_RECORD_STREAM'] : [];
    for (const { offset, payload: length, channel, command, tag = NONE } of capture.frames) {
      if (channel !== NONE) continue;
      const asked = requests[tag] ?? kind;
      if (command === numberOf('REPLY') && asked !== undefined) {
        conversation.read('client', payload(wire.command(numberOf(asked), tag)));
      }
      const from = capture.file.startsWith('client') ? 'client' : 'server';
      const read = conversation.read(from, bytes.subarray(offset + HEADER, offset + HEADER + length));
      assertWhole(read);
      assert.equal(read.command, MESSAGES[command ?? NONE]?.name);
      if (command === numberOf('REPLY')) assert.equal(read.answers, asked);
      if (capture.count !== undefined) assert.equal(Object.values(read.fields).flat().length, capture.count);
    }
  });
}

test('the values of a record are those that the daemon reads', () => {
  const bytes = payload(GOLDEN.read({ file: 'pipewire-sink-inputs-1.bin' }));
  const conversation = speaking(35);
  conversation.read('client', payload(wire.command(numberOf('GET_SINK_INPUT_INFO_LIST'), 2)));
  const read = conversation.read('server', bytes);
  const reader = new Reader(bytes, 35, new TextCache());
  reader.u32();
  reader.u32();
  const daemons = COMMANDS.GET_SINK_INPUT_INFO_LIST.reply.read(reader);
  const named = daemons.map(({ sampleSpec, format, ...same }) => ({
    ...same,
    sampleSpec: { ...sampleSpec, format: 's16le' },
    channelMap: ['front-left', 'front-right'],
    format: { ...format, encoding: 'pcm' },
  }));
  assert.deepEqual(plain(read.fields), plain({ sinkInputs: named }));
});

/** The value after a round trip through JSON. */
const plain = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value, (_, each: unknown) => (each === undefined ? null : each)));

const s64 = (value: bigint): Bytes => {
  const bytes = new Uint8Array(8);
  new DataView(bytes.buffer).setBigInt64(0, value);
  return [0x72, ...bytes];
};
const u64 = (value: bigint): Bytes => [0x52, ...s64(value).slice(1)];
const time = (seconds: number, microseconds: number): Bytes => [
  ...[0x54, ...wire.u32(seconds).slice(1)],
  ...wire.u32(microseconds).slice(1),
];
const u8 = (value: number): Bytes => [0x42, value];
const [yes, no]: readonly [Bytes, Bytes] = [[0x31], [0x30]];
const name = (value: string): Bytes => wire.text(value);
const none = wire.u32(NONE);
const PROPS = wire.props(wire.textProp('a', 'b'));

const CARD = [
  ...[wire.u32(4), name('alsa_card.0'), wire.u32(6), name('module-alsa-card.c'), wire.u32(1)],
  ...[name('output'), name('Analog'), wire.u32(1), wire.u32(0), wire.u32(6500)],
];
const CARD_PORT = [
  ...[name('headphones'), name('Headphones'), wire.u32(9900), wire.u32(1), u8(1), wire.props()],
  ...[wire.u32(2), name('output'), name('off')],
];
const CARD_READ = { index: 4, name: 'alsa_card.0', ownerModule: 6, driver: 'module-alsa-card.c' };
const PROFILE_READ = { name: 'output', description: 'Analog', sinks: 1, sources: 0, priority: 6500 };
const PORT_READ = {
  ...{ name: 'headphones', description: 'Headphones', priority: 9900, available: 'no', direction: 1 },
  ...{ props: {}, profiles: ['output', 'off'] },
};

/** Replies: request, its own fields, fields of the reply, what is read of the reply. */
const REPLIES: readonly (readonly [string, readonly Bytes[], readonly Bytes[], object])[] = [
  [
    'GET_CARD_INFO',
    [none, name('alsa_card.0')],
    [
      ...[...CARD, wire.u32(1), name('output'), PROPS, wire.u32(1), ...CARD_PORT],
      ...[s64(-5n), name('Legacy 1'), wire.u32(3)],
    ],
    {
      ...CARD_READ,
      profiles: [{ ...PROFILE_READ, available: 1 }],
      activeProfile: 'output',
      props: { a: 'b' },
      ports: [{ ...PORT_READ, latencyOffset: -5, availabilityGroup: 'Legacy 1', type: 3 }],
    },
  ],
  [
    'GET_PLAYBACK_LATENCY',
    [wire.u32(0), time(5, 7)],
    [
      ...[wire.usec(0, 10), wire.usec(1, 0), yes, time(5, 7), time(6, 500_000), s64(100n), s64(50n)],
      ...[u64(2n ** 64n - 1n), u64(3n)],
    ],
    {
      ...{ sinkLatency: 10, sourceLatency: 2 ** 32, running: true, sent: 5.000007, answered: 6.5 },
      ...{ writeIndex: 100, readIndex: 50, underrunFor: '18446744073709551615', playingFor: 3 },
    },
  ],
];

for (const [request, asked, answered, expected] of REPLIES) {
  test(`${request} and its reply`, () => {
    const conversation = speaking(NEWEST_VERSION);
    const command = conversation.read('client', payload(wire.command(numberOf(request), TAG, ...asked)));
    assertWhole(command);
    const read = conversation.read('server', payload(wire.reply(TAG, ...answered)));
    assertWhole(read);
    assert.equal(read.answers, command.command);
    assert.deepEqual(plain(read.fields), expected);
  });
}

/** Commands of either side that the servers of the tests seldom give cause for: command, fields, what is read. */
const SAID: readonly (readonly [string, readonly Bytes[], object])[] = [
  ['UNDERFLOW', [wire.u32(1), s64(-1n)], { stream: 1, at: -1 }],
  ['OVERFLOW', [wire.u32(1)], { stream: 1 }],
  [
    'RECORD_STREAM_MOVED',
    [wire.u32(1), wire.u32(2), name('two'), yes, wire.u32(9), none, wire.usec(0, 8)],
    {
      ...{ stream: 1, source: 2, sourceName: 'two', suspended: true },
      ...{ maxLength: 9, fragmentLength: null, latency: 8 },
    },
  ],
  [
    'PLAYBACK_BUFFER_ATTR_CHANGED',
    [wire.u32(1), ...[2, 3, 4, 5].map(wire.u32), wire.usec(0, 6)],
    { stream: 1, maxLength: 2, targetLength: 3, prebuffering: 4, minimumRequest: 5, latency: 6 },
  ],
  ['CLIENT_EVENT', [name('request-cork'), PROPS], { name: 'request-cork', props: { a: 'b' } }],
  [
    'PLAYBACK_STREAM_EVENT',
    [wire.u32(1), name('request-cork'), PROPS],
    { stream: 1, name: 'request-cork', props: { a: 'b' } },
  ],
  [
    'REMOVE_PLAYBACK_STREAM_PROPLIST',
    [wire.u32(1), name('a'), name('b'), wire.text(null)],
    { stream: 1, keys: ['a', 'b'] },
  ],
  [
    'SET_RECORD_STREAM_BUFFER_ATTR',
    [wire.u32(1), none, wire.u32(4), yes, no],
    { stream: 1, maxLength: null, fragmentLength: 4, adjustLatency: true, earlyRequests: false },
  ],
  [
    'SET_PORT_LATENCY_OFFSET',
    [none, name('card'), name('port'), s64(-2000n)],
    { index: null, name: 'card', port: 'port', offset: -2000 },
  ],
  ['UPDATE_CLIENT_PROPLIST', [wire.u32(2), PROPS], { mode: 'replace', props: { a: 'b' } }],
  ['SUBSCRIBE', [wire.u32(0x8201)], { mask: ['sink', 'card', 0x8000] }],
  ['SUBSCRIBE_EVENT', [wire.u32(0x12), wire.u32(7)], { event: 'sink-input change', index: 7 }],
  ['SUBSCRIBE_EVENT', [wire.u32(0x13f), none], { event: 0x13f, index: null }],
  ['ENABLE_SRBCHANNEL', [], {}],
  ['REGISTER_MEMFD_SHMID', [wire.u32(3)], { id: 3 }],
  [
    'CREATE_UPLOAD_STREAM',
    [name('bing'), wire.spec(3, 1, 8000), wire.map(0), wire.u32(100), wire.props()],
    {
      ...{ name: 'bing', sampleSpec: { format: 's16le', channels: 1, rate: 8000 } },
      ...{ channelMap: ['mono'], length: 100, props: {} },
    },
  ],
];

for (const [command, fields, expected] of SAID) {
  test(`${command}: ${JSON.stringify(expected).slice(0, 40)}`, () => {
    const read = speaking(NEWEST_VERSION).read(
      'server',
      payload(wire.command(numberOf(command), NONE, ...fields)),
    );
    assertWhole(read);
    assert.equal(read.command, command);
    assert.deepEqual(plain(read.fields), expected);
  });
}
