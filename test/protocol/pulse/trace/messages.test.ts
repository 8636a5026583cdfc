// The trace's tables agree with the daemon's, and with captures of real servers.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { COMMANDS, FROM_SERVER } from '../../../../src/protocol/pulse/commands.js';
import { TextCache } from '../../../../src/protocol/pulse/text-cache.js';
import { Conversation } from '../../../../src/protocol/pulse/trace/conversation.js';
import { MESSAGES } from '../../../../src/protocol/pulse/trace/messages.js';
import { NEWEST_VERSION } from '../../../../src/protocol/pulse/wire.js';
import * as wire from '../bytes.js';
import { GOLDEN } from '../captures.js';
import { decode } from '../decoded.js';

const HEADER = 20;
const NONE = 0xffffffff;

const numberOf = (name: string): number => MESSAGES.findIndex((each) => each.name === name);

/** A conversation in that protocol version. */
function speaking(version: number): Conversation {
  const conversation = new Conversation(new TextCache());
  const auth = wire.command(numberOf('AUTH'), 0, wire.u32(version), wire.blob([]));
  conversation.read('client', Buffer.from(auth));
  conversation.read('server', Buffer.from(wire.reply(0, wire.u32(version))));
  assert.equal(conversation.negotiatedVersion, Math.min(version, NEWEST_VERSION));
  return conversation;
}

test('the numbers of commands are those of the protocol, as the daemon has them', () => {
  for (const [name, { code }] of Object.entries(COMMANDS)) assert.equal(MESSAGES[code]?.name, name);
  for (const [name, code] of Object.entries(FROM_SERVER)) assert.equal(MESSAGES[code]?.name, name);
  // native-common.h of PulseAudio 17: the last before PA_COMMAND_MAX.
  assert.equal(MESSAGES.at(-1)?.name, 'SEND_OBJECT_MESSAGE');
  assert.equal(MESSAGES.length, 105);
  assert.equal(new Set(MESSAGES.map(({ name }) => name)).size, MESSAGES.length);
});

/**
 * The requests that the captures answer, by their names; those that begin with the handshake answer that
 * first.
 */
const REQUESTS: readonly (readonly [part: string, request: string])[] = [
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
    const kind = REQUESTS.find(([part]) => capture.file.includes(`-${part}`))?.[1];
    const requests = capture.frames[0]?.tag === 0 ? [...HANDSHAKE, kind, 'DELETE_RECORD_STREAM'] : [];
    for (const { offset, payload: length, channel, command, tag = NONE } of capture.frames) {
      if (channel !== NONE) continue;
      const request = requests[tag] ?? kind;
      if (command === numberOf('REPLY') && request !== undefined) {
        conversation.read('client', Buffer.from(wire.command(numberOf(request), tag)));
      }
      const from = capture.file.startsWith('client') ? 'client' : 'server';
      const read = conversation.read(from, bytes.subarray(offset, offset + HEADER + length));
      assert.deepEqual([read.unnamed, read.problem], [[], undefined], String(read.command));
      assert.equal(read.command, MESSAGES[command ?? NONE]?.name);
      if (command === numberOf('REPLY')) assert.equal(read.answers, request);
      if (capture.count !== undefined) assert.equal(Object.values(read.fields).flat().length, capture.count);
    }
  });
}

test('the values of a record are those that the daemon reads', () => {
  const bytes = GOLDEN.read({ file: 'pipewire-sink-inputs-1.bin' });
  const conversation = speaking(35);
  conversation.read('client', Buffer.from(wire.command(numberOf('GET_SINK_INPUT_INFO_LIST'), 2)));
  const read = conversation.read('server', bytes);
  // Behind command and tag.
  const daemons = decode('GET_SINK_INPUT_INFO_LIST', bytes.subarray(HEADER + 10));
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
