// Bytes captured from real servers decode to the values that were recorded beside them, in one chunk and
// byte by byte. A capture without its end is an error, or a shorter list.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { peaksOf } from '../../../src/actors/audio/levels.js';
import { COMMANDS, type RequestName } from '../../../src/protocol/pulse/commands.js';
import { Chunk } from '../../../src/protocol/pulse/frame.js';
import { Reader } from '../../../src/protocol/pulse/reader.js';
import { TextCache } from '../../../src/protocol/pulse/text-cache.js';
import { WireError } from '../../../src/protocol/pulse/wire.js';
import { text, u32 } from './bytes.js';
import { type Capture, GOLDEN } from './captures.js';
import { converse, ready, written } from './conversation.js';
import { PEAKS } from './record-stream.js';

const HEADER_BYTES = 20;
/** A payload up to this size is cut short to every length. */
const CUT_EVERYWHERE_BYTES = 2000;
/** A larger payload is cut short to each length up to this one, and to the multiples of CUT_STRIDE_BYTES. */
const CUT_BEGINNING_BYTES = 30;
const CUT_STRIDE_BYTES = 4999;

/** The version of the protocol in all captures that name no other. */
const USUAL_VERSION = 35;
/** The tag of the first request of a session that is ready. Each further request has the next tag. */
const FIRST_TAG = 2;
const NO_ENTITY_CODE = 5;
/** This is PA_SUBSCRIPTION_MASK_ALL of PulseAudio. */
const ALL_EVENTS_MASK = 0x2ff;
/** The index that stands for no object. */
const NO_INDEX = 0xffffffff;

const { files, read } = GOLDEN;

const COMMANDS_BY_FILE_NAME: readonly (readonly [nameBegin: string, command: RequestName])[] = [
  ['server-info', 'GET_SERVER_INFO'],
  ['sinks', 'GET_SINK_INFO_LIST'],
  ['sink-inputs', 'GET_SINK_INPUT_INFO_LIST'],
  ['sink-input-info', 'GET_SINK_INPUT_INFO'],
];

/** A file has the server's name first, such as `pulse` in `pulse-sinks-v32.bin`. */
function commandOf(capture: Capture): RequestName | undefined {
  const [, nameWithoutServer = ''] = /^[^-]*-(.*)$/.exec(capture.file) ?? [];
  return COMMANDS_BY_FILE_NAME.find(([nameBegin]) => nameWithoutServer.startsWith(nameBegin))?.[1];
}

const replies = files.flatMap((capture) => {
  const command = commandOf(capture);
  return command === undefined
    ? []
    : [{ capture, command, version: capture.negotiated_version ?? USUAL_VERSION }];
});

/**
 * Sends the command with this tag, and returns its result after the session has received these chunks. A
 * session numbers its requests itself, so other requests use up the smaller tags first.
 */
function throughSession(
  command: RequestName,
  version: number,
  tag: number,
  chunks: Iterable<Uint8Array>,
): unknown {
  const { session, closed } = ready(version);
  const results: unknown[] = [];
  for (let usedTag = FIRST_TAG; usedTag < tag; usedTag += 1)
    session.request('GET_SERVER_INFO', {}, 0, () => assert.fail());
  // This index does not matter, because a reply is found by its tag.
  const args = command === 'GET_SINK_INPUT_INFO' ? { index: 5 } : {};
  session.request(command, args as { index: number }, 0, (result) => results.push(result));

  for (const chunk of chunks) session.receive(chunk);
  assert.deepEqual(closed, []);
  assert.equal(results.length, 1);
  return results[0];
}

function* oneByOne(bytes: Uint8Array): Generator<Uint8Array> {
  for (let index = 0; index < bytes.length; index += 1) yield bytes.subarray(index, index + 1);
}

const texts = new TextCache();

/** Reads the frame up to `end`. The bytes behind it do not belong to the frame. */
function decode(bytes: Uint8Array, command: RequestName, version: number, end = bytes.length): unknown {
  const reader = new Reader(new Chunk(bytes), version, texts, HEADER_BYTES, end);
  // The numbers of the command and of the tag.
  reader.u32();
  reader.u32();
  const value = COMMANDS[command].reply.read(reader);
  reader.finish();
  return value;
}

/** The lengths to which a payload is cut short. */
const shorterLengths = ({ length }: Uint8Array): number[] =>
  Array.from({ length }, (_, at) => at).filter(
    (at) => length <= CUT_EVERYWHERE_BYTES || at <= CUT_BEGINNING_BYTES || at % CUT_STRIDE_BYTES === 0,
  );

for (const { capture, command, version } of replies) {
  const bytes = read(capture);
  const tag = capture.frames[0]?.tag ?? FIRST_TAG;

  test(`${capture.file} decodes to its recorded value, whole and byte by byte`, () => {
    assert.equal(bytes.length, capture.bytes);
    const whole = throughSession(command, version, tag, [bytes]);
    if (capture.decoded !== undefined) {
      assert.deepEqual(JSON.parse(JSON.stringify(whole)), { ok: true, value: capture.decoded });
    }
    if (capture.count !== undefined) {
      assert.equal((whole as { value: unknown[] }).value.length, capture.count);
    }
    assert.deepEqual(throughSession(command, version, tag, oneByOne(bytes)), whole);
  });

  test(`${capture.file} cut short is an error, or a shorter list of the same records`, () => {
    const whole = decode(bytes, command, version);
    for (const cut of shorterLengths(bytes.subarray(HEADER_BYTES))) {
      let value: unknown;
      try {
        value = decode(bytes, command, version, HEADER_BYTES + cut);
      } catch (error) {
        assert.ok(error instanceof WireError, `cut at ${cut}: ${error}`);
        continue;
      }
      assert.ok(Array.isArray(value) && Array.isArray(whole), `cut at ${cut}`);
      assert.ok(value.length < whole.length, `cut at ${cut}`);
      assert.deepEqual(value, whole.slice(0, value.length));
    }
  });
}

for (const capture of files.filter((file) => file.file.includes('handshake'))) {
  test(`${capture.file} opens a session`, () => {
    const { session, versions, closed } = converse();
    session.open(0);
    for (const byte of oneByOne(read(capture))) session.receive(byte);
    assert.deepEqual([versions, closed], [[USUAL_VERSION], []]);
  });
}

for (const capture of files.filter((file) => file.code !== undefined)) {
  test(`${capture.file} fails its request with the server's code`, () => {
    const result = throughSession('GET_SINK_INFO_LIST', USUAL_VERSION, FIRST_TAG, [read(capture)]);
    const named =
      capture.code === NO_ENTITY_CODE
        ? { name: 'NOENTITY', meaning: 'no such entity' }
        : { name: 'INVALID', meaning: 'invalid argument' };
    assert.deepEqual(result, { ok: false, error: { kind: 'server', code: capture.code, ...named } });
  });
}

/** The fields of a reply to CREATE_RECORD_STREAM that differ from server to server. */
const PEAK_REPLIES: Readonly<Record<string, object>> = {
  'pulse-peak-record.bin': {
    sourceOutput: 0,
    source: 0,
    format: {
      encoding: 1,
      props: {
        'format.sample_format': '"float32le"',
        'format.rate': '25',
        'format.channels': '2',
        'format.channel_map': '"front-left,front-right"',
      },
    },
  },
  'pipewire-peak-record.bin': { sourceOutput: 0x37, source: 0x2b, format: { encoding: 1, props: {} } },
  'pipewire14-peak-record.bin': { sourceOutput: 0x3d, source: 0x31, format: { encoding: 1, props: {} } },
};

for (const capture of files.filter(({ file }) => PEAK_REPLIES[file] !== undefined)) {
  test(`${capture.file} opens a record stream and brings its peaks, byte by byte`, () => {
    const bytes = read(capture);
    assert.equal(bytes.length, capture.bytes);
    const { session, closed, streamEvents } = ready();
    const results: unknown[] = [];
    // Both requests are sent first, because a capture may have both replies, with the peaks between them.
    session.request('CREATE_RECORD_STREAM', PEAKS, 0, (result) => results.push(result));
    session.request('DELETE_RECORD_STREAM', { stream: 0 }, 0, (result) => results.push(result));
    // The first two frames are the handshake's, with 15 bytes of payload each.
    const handshakeBytes = 2 * (HEADER_BYTES + 15);
    for (const byte of oneByOne(bytes.subarray(handshakeBytes))) session.receive(byte);

    const [created, ...deleted] = results;
    // The clone has ordinary objects for the property lists, which have a prototype of their own.
    assert.deepEqual(structuredClone(created), {
      ok: true,
      value: {
        stream: 0,
        maxLength: 0x400000,
        fragmentLength: 8,
        suspended: false,
        latency: 40_000,
        sampleSpec: PEAKS.sampleSpec,
        channelMap: PEAKS.channelMap,
        sourceName: 'living.monitor',
        ...PEAK_REPLIES[capture.file],
      },
    });
    // A capture may end before the server replies to the deletion.
    const deletionTag = FIRST_TAG + 1;
    const isDeletionReplied = capture.frames.some(({ tag }) => tag === deletionTag);
    const peaks = streamEvents.map(([stream, fragment]) =>
      fragment === 'killed' ? [stream] : [stream, ...(peaksOf(Uint8Array.from(fragment), 2) ?? [])],
    );
    assert.ok(peaks.length > 5);
    // The last peak: the number of the stream, then the amplitudes of the sine that the server was playing.
    assert.deepEqual(peaks.at(-1), [0, 0.5, 0.25]);
    assert.deepEqual(deleted, isDeletionReplied ? [{ ok: true, value: undefined }] : []);
    assert.deepEqual(closed, []);
  });
}

test('the session writes client-peak-request.bin for a record stream, but with an index for the source', () => {
  const captured = read({ file: 'client-peak-request.bin' });
  const byName = Buffer.from([...u32(NO_INDEX), ...text('living.monitor')]);
  // The source of `PEAKS` (record-stream.ts).
  const sourceIndex = 3;
  const byIndex = Buffer.from([...u32(sourceIndex), ...text(null)]);
  const sourceStart = captured.indexOf(byName);
  const expected = Buffer.concat([
    captured.subarray(0, sourceStart),
    byIndex,
    captured.subarray(sourceStart + byName.length),
  ]);
  // A frame begins with the length of its payload.
  expected.writeUInt32BE(expected.readUInt32BE(0) - byName.length + byIndex.length, 0);
  const { session } = ready();
  session.request('CREATE_RECORD_STREAM', PEAKS, 0, () => assert.fail());
  session.request('DELETE_RECORD_STREAM', { stream: 0 }, 0, () => assert.fail());
  assert.deepEqual(written(session), [...expected]);
});

/** An event in the form of the manifest: `CHANGE SINK_INPUT #5`. */
const textOf = (event: { type: string; facility: string; index: number | undefined }): string =>
  `${event.type} ${event.facility.replace('-', '_')} #${event.index ?? NO_INDEX}`.toUpperCase();

for (const capture of files.filter((file) => file.events !== undefined || file.counts !== undefined)) {
  test(`${capture.file} gives its recorded events, byte by byte`, () => {
    const { session, events, closed } = ready();
    const acknowledged: unknown[] = [];
    session.request('SUBSCRIBE', { mask: ALL_EVENTS_MASK }, 0, (result) => acknowledged.push(result));
    for (const chunk of oneByOne(read(capture))) session.receive(chunk);
    assert.deepEqual(closed, []);
    const eventTexts = events.map(textOf);
    if (capture.events !== undefined) assert.deepEqual(eventTexts, capture.events);
    for (const [kind, count] of Object.entries(capture.counts ?? {}))
      assert.equal(eventTexts.filter((event) => event.startsWith(`${kind} #`)).length, count);
    // The other captures begin later, so they have only events.
    const isSubscribeReplied = capture.file.includes('subscribe');
    assert.deepEqual(acknowledged, isSubscribeReplied ? [{ ok: true, value: undefined }] : []);
  });
}
