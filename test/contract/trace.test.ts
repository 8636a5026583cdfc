// `tonearm trace` on real sound servers with common clients. The clients work as they do without the tracer.
// The trace names every message, and every value except those for a module (EXTENSION). Its capture decodes
// to the printed lines, and the cookie appears nowhere.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { Framer, HEADER_BYTES } from '../../src/protocol/pulse/frame.js';
import { TextCache } from '../../src/protocol/pulse/text-cache.js';
import { Conversation, type Side } from '../../src/protocol/pulse/trace/conversation.js';
import { writeTone } from '../players/tones.js';
import { capturesOf } from '../protocol/pulse/captures.js';
import { type Environment, startProgram } from '../sound/program.js';
import type { SoundServer } from '../sound/server.js';
import { SOUND_SERVERS } from '../sound/servers.js';
import { toneFile } from '../sound/tone.js';
import { temporaryFolder } from '../temporary-folder.js';
import { skipReason } from '../tools/requirements.js';
import { until } from '../until.js';
import { startTracer, type TraceLine } from './tracer.js';

const runFile = promisify(execFile);

const DEADLINE_MS = 180_000;
const PROGRAM_MS = 60_000;
const COOKIE_BYTES = 256;
/** The test cuts the cookie into pieces of this length. None of them may appear anywhere. */
const COOKIE_PIECE_BYTES = 8;
/** The channel of messages; every other channel has audio data. */
const MESSAGE_CHANNEL = 0xffffffff;
const NEGOTIATED_VERSION = 35;
/**
 * Options of pacat: the format of the tone and of its recording, and a latency, which by default is two
 * seconds.
 */
const STREAM_OPTIONS = ['--raw', '--format=s16le', '--rate=8000', '--channels=2', '--latency-msec=100'];

/** One command of pactl per line, written as in a shell. */
const commandLines = (text: string): readonly (readonly string[])[] =>
  text.split('\n').flatMap((line) => (line.trim() === '' ? [] : [line.trim().split(' ')]));

/** Requests that change nothing, and whose answer is the same a moment later. */
const QUESTIONS = commandLines(`
  list sinks
  list sources
  list sink-inputs
  list source-outputs
  list modules
  list cards
  list samples
  list short
  --format=json list sinks
  get-default-sink
  get-default-source
  get-sink-volume living
  get-source-mute living.monitor
  info
`);

/**
 * Removes everything that differs from one moment, or one connection, to the next: `26 usec`,
 * `"actual":26.00`, `SUSPENDED`, `Client Index: 7`, and the line of the client `pactl` in `list short`.
 */
function removeVarying(text: string): string {
  return text
    .replace(/\d+(\.\d+)? usec/g, 'usec')
    .replace(/"(actual|configured)":[\d.]+/g, '')
    .replace(/\b(RUNNING|IDLE|SUSPENDED)\b/g, 'STATE')
    .replace(/^(Server String|Client Index): .*$/gm, '')
    .replace(/^\d+\t.*\tpactl\n/gm, '');
}

/**
 * The test does not check the status of these commands. A server refuses some of them even without the
 * tracer, for example because the name `no-such` does not exist.
 */
const uncheckedCommands = (
  sinkInput: string,
  sourceOutput: string,
  wav: string,
): readonly (readonly string[])[] => [
  ...commandLines(`
    stat
    list clients
    load-module module-null-sink sink_name=third
    set-sink-volume living 41%
    set-sink-volume kitchen +5%
    set-sink-mute kitchen 1
    set-source-volume living.monitor 80%
    set-source-mute kitchen.monitor toggle
    set-default-sink kitchen
    set-default-source kitchen.monitor
    set-default-sink living
    set-sink-input-volume ${sinkInput} 33%
    set-sink-input-mute ${sinkInput} 1
    move-sink-input ${sinkInput} kitchen
    set-sink-input-mute ${sinkInput} toggle
    set-source-output-volume ${sourceOutput} 44%
    set-source-output-mute ${sourceOutput} toggle
    move-source-output ${sourceOutput} kitchen.monitor
    suspend-source kitchen.monitor 0
    suspend-sink third 1
    suspend-sink third 0
    set-sink-port living no-such
    set-source-port living.monitor no-such
    set-card-profile no-such off
    set-port-latency-offset no-such port 5
    send-message /core list-handlers
    upload-sample ${wav} bing
    list samples
    play-sample bing living
    remove-sample bing
    unload-module module-null-sink-that-is-not-there
  `),
  ['set-sink-formats', '1', 'pcm; ac3-iec61937'],
];

/** The trace of each kind of server must contain all these messages, which come from either side. */
const EXPECTED_COMMANDS = `
  AUTH, SET_CLIENT_NAME, REPLY, ERROR, SUBSCRIBE, SUBSCRIBE_EVENT, STAT, GET_SERVER_INFO, GET_SINK_INFO, GET_SINK_INFO_LIST,
  GET_SOURCE_INFO, GET_SOURCE_INFO_LIST, GET_MODULE_INFO_LIST, GET_CLIENT_INFO_LIST, GET_SINK_INPUT_INFO_LIST,
  GET_SOURCE_OUTPUT_INFO_LIST, GET_CARD_INFO_LIST, GET_SAMPLE_INFO_LIST, LOAD_MODULE, SET_SINK_VOLUME, SET_SINK_MUTE,
  SET_SOURCE_VOLUME, SET_SOURCE_MUTE, SET_DEFAULT_SINK, SET_DEFAULT_SOURCE, SET_SINK_INPUT_VOLUME, SET_SINK_INPUT_MUTE,
  SET_SOURCE_OUTPUT_VOLUME, SET_SOURCE_OUTPUT_MUTE, MOVE_SINK_INPUT, MOVE_SOURCE_OUTPUT, SUSPEND_SINK, SUSPEND_SOURCE,
  SET_SINK_PORT, SET_SOURCE_PORT, SET_CARD_PROFILE, SET_PORT_LATENCY_OFFSET, EXTENSION, SEND_OBJECT_MESSAGE,
  CREATE_UPLOAD_STREAM, FINISH_UPLOAD_STREAM, PLAY_SAMPLE, REMOVE_SAMPLE, CREATE_PLAYBACK_STREAM, CREATE_RECORD_STREAM,
  REQUEST, STARTED, GET_PLAYBACK_LATENCY, DRAIN_PLAYBACK_STREAM, CORK_PLAYBACK_STREAM, FLUSH_PLAYBACK_STREAM
`
  .trim()
  .split(/,\s+/);

/** The result of a program: a line with its status, then its output and its error output. */
async function outcome(env: Environment, program: string, args: readonly string[]): Promise<string> {
  const limits = { timeout: PROGRAM_MS, maxBuffer: 64 << 20 };
  const ended = await runFile(program, [...args], { env, ...limits }).catch(
    (error: { code?: unknown; stdout: string; stderr: string }) => error,
  );
  return `${'code' in ended ? ended.code : 0}\n${ended.stdout}${ended.stderr}`;
}

/**
 * The cookie that clients of this server send. PipeWire compares no cookie and creates none, so this
 * function makes one if the file is missing.
 */
function cookieOf({ directory }: SoundServer): Buffer {
  const path = join(directory, '.config/pulse/cookie');
  mkdirSync(dirname(path), { recursive: true });
  if (!statSync(path, { throwIfNoEntry: false })) writeFileSync(path, randomBytes(COOKIE_BYTES));
  const cookie = readFileSync(path);
  assert.equal(cookie.length, COOKIE_BYTES);
  return cookie;
}

/**
 * Every message and every value must have a name. Only the values for an EXTENSION's module have none
 * (protocol/pulse/trace/messages.ts).
 */
function assertNamed(traced: readonly TraceLine[]): void {
  for (const line of traced) {
    const { command, unnamed, problem, answers, note, data } = line;
    if (note !== undefined || data !== undefined) continue;
    // A reply has the name of the request that it answers. A command without a name is a number here.
    const isReply = command === 'REPLY' || command === 'ERROR';
    const name = isReply ? answers : command;
    const areValuesNamed = name === 'EXTENSION' || unnamed === undefined;
    const isNamed = typeof name === 'string' && areValuesNamed;
    assert.ok(isNamed, JSON.stringify(line));
    assert.equal(problem, undefined, JSON.stringify(line));
  }
}

/** Every capture in the list must decode to the lines that were printed while it was made. */
function assertReadsBack(listPath: string, traced: readonly TraceLine[]): void {
  const { files, read } = capturesOf(pathToFileURL(listPath));
  const numbers = new Set(traced.map(({ connection }) => connection));
  assert.equal(files.length, 2 * numbers.size);
  for (const number of numbers) {
    const conversation = new Conversation(new TextCache());
    // The client's messages come first, because its request says what a reply contains.
    for (const from of ['client', 'server'] satisfies Side[]) {
      const capture = files.find(({ file }) => file.endsWith(`-${number}-${from}.bin`));
      assert.ok(capture !== undefined);
      const bytes = read(capture);
      assert.equal(bytes.length, capture.bytes);
      const decoded: unknown[] = [];
      let dataFrames = 0;
      new Framer().push(bytes, (chunk, payloadStart, end, channel) => {
        const frame = chunk.bytes.subarray(payloadStart - HEADER_BYTES, end);
        if (channel === MESSAGE_CHANNEL) decoded.push({ from, ...conversation.read(from, frame) });
        else dataFrames += 1;
      });
      assert.equal(capture.frames.length, decoded.length + dataFrames);
      assert.equal(capture.negotiated_version, NEGOTIATED_VERSION);
      const tracedHere = traced.filter((line) => line.connection === number && line.from === from);
      assert.equal(tracedHere.filter((line) => line.data !== undefined).length, dataFrames);
      // `declined` is not compared, because the flags of shared memory are cleared in the capture. An empty
      // `unnamed` is not printed (protocol/pulse/trace/lines.ts).
      const messages = tracedHere.filter((line) => line.command !== undefined);
      const printed = messages.map(
        ({ seconds: _seconds, connection: _connection, declined: _declined, ...line }) => line,
      );
      const isCompared = (key: string, value: unknown[]): boolean => {
        const isEmptyUnnamed = key === 'unnamed' && value.length === 0;
        return key !== 'declined' && !isEmptyUnnamed;
      };
      const text = JSON.stringify(decoded, (key, value) => (isCompared(key, value) ? value : undefined));
      assert.deepEqual(printed, JSON.parse(text));
    }
  }
}

for (const { kind, skip, start } of SOUND_SERVERS) {
  test(`${kind}: pactl, pacat, paplay and mpv work through the tracer, and every message is named`, {
    timeout: DEADLINE_MS,
    skip: skip || skipReason({ programs: ['mpv', 'paplay'] }),
  }, async (t) => {
    const sound = await start();
    t.after(() => sound.stop());
    const cookie = cookieOf(sound);
    // `set-sink-formats` needs this module of PulseAudio.
    if (kind === 'pulseaudio') await sound.pactl('load-module', 'module-device-restore');
    const wav = join(sound.directory, 'tone.wav');
    writeTone(wav, { title: 'A tone', artist: '', album: '', seconds: 1 });
    const directory = temporaryFolder(t);
    const listPath = join(directory, 'capture.json');
    const tracer = await startTracer(t, sound.env, '--json', '--data', '--raw', listPath);
    assert.equal(statSync(tracer.path).mode & 0o777, 0o600);
    const env = { ...sound.env, PULSE_SERVER: `unix:${tracer.path}` };
    const runTraced = (program: string, ...args: string[]): Promise<string> => outcome(env, program, args);

    for (const question of QUESTIONS) {
      const direct = await outcome(sound.env, 'pactl', question);
      const traced = await runTraced('pactl', ...question);
      assert.equal(removeVarying(traced), removeVarying(direct), question.join(' '));
      assert.match(traced, /^0\n/);
    }

    const log = join(directory, 'log');
    const tone = toneFile(sound.directory, [0.9, 0.9]);
    const recorded = join(directory, 'recorded');
    const running = [
      startProgram('pactl', ['subscribe'], { env, log }),
      startProgram('pacat', ['--playback', '--verbose', '--device=living', ...STREAM_OPTIONS, tone], {
        env,
        log,
      }),
      startProgram('pacat', ['--record', '--device=living.monitor', ...STREAM_OPTIONS, recorded], {
        env,
        log,
      }),
    ];
    t.after(() => Promise.all(running.map((program) => program.end('SIGKILL'))));
    const firstIndexOf = async (what: string): Promise<string> =>
      until(`${what} are listed`, async () => {
        const [index = ''] = (await sound.pactl('list', 'short', what)).split('\t');
        return index !== '' && index;
      });
    const sinkInput = await firstIndexOf('sink-inputs');
    const sourceOutput = await firstIndexOf('source-outputs');
    assert.match(await runTraced('paplay', '--device=living', wav), /^0\n$/);
    // The samples of silence are from -32 to 32. Their bytes are at most 0x20 or at least 0xe0.
    await until('the recording has the sound', () =>
      readFileSync(recorded).some((byte) => byte > 0x20 && byte < 0xe0),
    );
    for (const command of uncheckedCommands(sinkInput, sourceOutput, wav))
      await runTraced('pactl', ...command);
    // Two of the commands above have set these volumes.
    const [living] = (await sound.sinks()).filter(({ name }) => name === 'living');
    assert.equal(living?.volume['front-left']?.value_percent, '41%');
    assert.match(await sound.pactl('list', 'sink-inputs'), /Volume: [^\n]* 33%/);
    const mpv = ['--no-config', '--ao=pulse', '--no-terminal', '--length=0.3', '--audio-device=pulse/living'];
    const played = await runTraced('mpv', ...mpv, wav);
    assert.match(played, /^0\n/, `${played}${tracer.out().slice(-8000)}`);
    for (const program of running) {
      assert.ok(program.alive(), program.name);
      await program.end('SIGINT');
    }
    assert.match(readFileSync(log, 'utf8'), /Event 'change' on sink #/);

    tracer.child.kill('SIGINT');
    assert.equal(await tracer.ended, 0);
    assert.equal(statSync(tracer.path, { throwIfNoEntry: false }), undefined);
    const traced: TraceLine[] = tracer
      .out()
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    assertNamed(traced);
    const names = new Set(traced.map(({ command }) => command));
    for (const name of EXPECTED_COMMANDS) assert.ok(names.has(name), name);
    // A client offers both kinds of shared memory. The tracer declines them, because it cannot read them.
    assert.ok(traced.some((line) => line.declined?.join() === 'shm,memfd'));
    assertReadsBack(listPath, traced);
    const keptFiles = readdirSync(directory).map((name) => readFileSync(join(directory, name)));
    for (const bytes of [...keptFiles, Buffer.from(tracer.out()), Buffer.from(tracer.err())]) {
      for (let start = 0; start < COOKIE_BYTES; start += COOKIE_PIECE_BYTES) {
        const piece = cookie.subarray(start, start + COOKIE_PIECE_BYTES);
        assert.equal(bytes.indexOf(piece), -1);
      }
    }
  });
}
