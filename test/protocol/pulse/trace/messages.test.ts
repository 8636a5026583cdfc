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

const HEADER_BYTES = 20;
/** The channel of frames without audio data. */
const COMMAND_CHANNEL = 0xffffffff;
/** This stands for a missing command or a missing tag of a frame. */
const NONE = 0xffffffff;

const numberOf = (name: string): number => MESSAGES.findIndex((message) => message.name === name);

/** A conversation in this version of the protocol. */
function conversationOf(version: number): Conversation {
  const conversation = new Conversation(new TextCache());
  const auth = wire.command(numberOf('AUTH'), 0, wire.u32(version), wire.blob([]));
  conversation.read('client', Buffer.from(auth));
  conversation.read('server', Buffer.from(wire.reply(0, wire.u32(version))));
  assert.equal(conversation.negotiatedVersion, Math.min(version, NEWEST_VERSION));
  return conversation;
}

test('each command has the same number in the trace as in the daemon, and the trace has all commands', () => {
  for (const [name, { code }] of Object.entries(COMMANDS)) assert.equal(MESSAGES[code]?.name, name);
  for (const [name, code] of Object.entries(FROM_SERVER)) assert.equal(MESSAGES[code]?.name, name);
  // native-common.h of PulseAudio 17 has this command last, before PA_COMMAND_MAX.
  assert.equal(MESSAGES.at(-1)?.name, 'SEND_OBJECT_MESSAGE');
  const PA_COMMAND_MAX = 105;
  assert.equal(MESSAGES.length, PA_COMMAND_MAX);
  assert.equal(new Set(MESSAGES.map(({ name }) => name)).size, MESSAGES.length);
});

/** A capture whose file name has this part is the answer to this request. */
const REQUESTS: readonly (readonly [part: string, request: string])[] = [
  ['server-info', 'GET_SERVER_INFO'],
  ['sinks', 'GET_SINK_INFO_LIST'],
  ['sink-inputs', 'GET_SINK_INPUT_INFO_LIST'],
  ['sink-input-info', 'GET_SINK_INPUT_INFO'],
  ['peak-record', 'CREATE_RECORD_STREAM'],
  ['subscribe', 'SUBSCRIBE'],
];
/** Some captures begin with the replies to these requests. A request's tag is its index in this list. */
const HANDSHAKE = ['AUTH', 'SET_CLIENT_NAME'];

for (const capture of GOLDEN.files) {
  test(`every frame of ${capture.file} has a name for each of its values`, () => {
    const conversation = conversationOf(capture.negotiated_version ?? 35);
    const bytes = GOLDEN.read(capture);
    const mainRequest = REQUESTS.find(([part]) => capture.file.includes(`-${part}`))?.[1];
    const hasHandshake = capture.frames[0]?.tag === 0;
    // After the handshake the main request has tag 2. Without a handshake it is the only request.
    const requestsByTag = hasHandshake ? [...HANDSHAKE, mainRequest, 'DELETE_RECORD_STREAM'] : [];
    for (const { offset, payload: length, channel, command, tag = NONE } of capture.frames) {
      const hasAudioData = channel !== COMMAND_CHANNEL;
      if (hasAudioData) continue;
      const request = requestsByTag[tag] ?? mainRequest;
      if (command === numberOf('REPLY') && request !== undefined) {
        conversation.read('client', Buffer.from(wire.command(numberOf(request), tag)));
      }
      const from = capture.file.startsWith('client') ? 'client' : 'server';
      const decoded = conversation.read(from, bytes.subarray(offset, offset + HEADER_BYTES + length));
      assert.deepEqual([decoded.unnamed, decoded.problem], [[], undefined], String(decoded.command));
      assert.equal(decoded.command, MESSAGES[command ?? NONE]?.name);
      if (command === numberOf('REPLY')) assert.equal(decoded.answers, request);
      // `count` belongs to a reply with a single field, the list of records.
      if (capture.count !== undefined)
        assert.equal(Object.values(decoded.fields).flat().length, capture.count);
    }
  });
}

/** The value without classes, and with null instead of undefined. */
const throughJson = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value, (_, member: unknown) => (member === undefined ? null : member)));

test('the values of a record are those that the daemon reads', () => {
  const bytes = GOLDEN.read({ file: 'pipewire-sink-inputs-1.bin' });
  const conversation = conversationOf(35);
  conversation.read('client', Buffer.from(wire.command(numberOf('GET_SINK_INPUT_INFO_LIST'), 2)));
  const decoded = conversation.read('server', bytes);
  const COMMAND_AND_TAG_BYTES = 10;
  const records = decode('GET_SINK_INPUT_INFO_LIST', bytes.subarray(HEADER_BYTES + COMMAND_AND_TAG_BYTES));
  // The trace has words where the daemon has numbers.
  const expected = records.map(({ sampleSpec, format, ...otherFields }) => ({
    ...otherFields,
    sampleSpec: { ...sampleSpec, format: 's16le' },
    channelMap: ['front-left', 'front-right'],
    format: { ...format, encoding: 'pcm' },
  }));
  assert.deepEqual(throughJson(decoded.fields), throughJson({ sinkInputs: expected }));
});
