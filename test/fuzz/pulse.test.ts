// Feeds damaged captures to a session of the sound server's protocol. The session must throw no error, and
// must not report more events than the bytes can contain. TONEARM_FUZZ_SEED=N repeats a run.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { peaksOf } from '../../src/actors/audio/levels.js';
import type { RequestName } from '../../src/protocol/pulse/commands.js';
import { CONTROL_CHANNEL } from '../../src/protocol/pulse/frame.js';
import { Session } from '../../src/protocol/pulse/session.js';
import { GOLDEN } from '../protocol/pulse/captures.js';
import { PEAKS } from '../protocol/pulse/record-stream.js';
import { SEED, SeededRandom } from '../seeded-random.js';
import { damage } from './damaging-proxy.js';

/** Larger captures are left out, because they only repeat what the small ones have. */
const CAPTURE_MAX_BYTES = 50_000;
/**
 * The arguments of every request in `REQUESTS`. Each request reads only those that it needs. The mask
 * requests the events of sinks, of sink inputs and of the server.
 */
const REQUEST_ARGUMENTS = { ...PEAKS, mask: 0x85, index: 7 };
const REQUESTS: readonly RequestName[] = [
  'GET_SINK_INPUT_INFO_LIST',
  'GET_SINK_INFO_LIST',
  'GET_SINK_INPUT_INFO',
  'GET_SERVER_INFO',
  'SUBSCRIBE',
  'CREATE_RECORD_STREAM',
];

const corpus = GOLDEN.files
  .filter(({ bytes }) => bytes <= CAPTURE_MAX_BYTES)
  .map((file) => GOLDEN.read(file));
const handshake = GOLDEN.read({ file: 'pulse-handshake.bin' });

const HEADER_BYTES = 20;
/** The size of an event with its header. */
const EVENT_BYTES = 40;
/** The handshake and the requests have fewer bytes. Damaged input must not make the session send more. */
const OUTPUT_MAX_BYTES = 1000;
const SESSION_DEADLINE_MS = 10;
/** The session opens, and sends its requests, at this time of its clock. */
const START_MS = 0;
/** The session sends this many requests after the handshake. */
const REQUESTS_SENT = 2;

const randomCapture = (random: SeededRandom): Buffer => random.pick(corpus);

/**
 * A capture with up to three damages. Half of the results get a correct first header again, so that the
 * session also reads what follows it.
 */
function damagedCapture(random: SeededRandom): Buffer {
  let bytes = randomCapture(random);
  for (let damagesLeft = random.below(4); damagesLeft > 0 && bytes.length > 0; damagesLeft -= 1) {
    const place = random.below(bytes.length + 1);
    const isSpliced = random.chance(0.2);
    bytes = isSpliced
      ? Buffer.concat([bytes.subarray(0, place), randomCapture(random), bytes.subarray(place)])
      : damage(bytes, random);
  }
  if (random.chance(0.5) && bytes.length > HEADER_BYTES) {
    bytes = Buffer.from(bytes);
    bytes.writeUInt32BE(bytes.length - HEADER_BYTES, 0);
    bytes.writeUInt32BE(CONTROL_CHANNEL, 4);
    bytes.fill(0, 8, HEADER_BYTES);
  }
  return bytes;
}

/** How often each outcome has come: a fuzzer whose inputs all have the same outcome would prove little. */
type Tally = Map<string, number>;

/** Feeds the bytes to a new session, and counts what comes of them. */
function feedSession(bytes: Buffer, random: SeededRandom, tally: Tally): void {
  const count = (outcome: string): void => void tally.set(outcome, (tally.get(outcome) ?? 0) + 1);
  let closed = 0;
  let events = 0;
  const session = new Session(
    {
      clientProps: {},
      authDeadlineMs: SESSION_DEADLINE_MS,
      requestDeadlineMs: SESSION_DEADLINE_MS,
      pendingMax: 4,
    },
    {
      onReady: () => count('ready'),
      onEvent: () => {
        events += 1;
      },
      onData: (stream, data) => {
        count('data');
        // The session does not know how many channels the stream has, so the test takes one to four.
        const channels = 1 + (stream % 4);
        const peaks = peaksOf(data, channels);
        assert.ok(
          peaks.every((peak) => peak >= 0 && peak <= 1),
          `${peaks}`,
        );
      },
      onClosed: (reason) => {
        closed += 1;
        count(reason.kind);
      },
    },
  );
  session.open(START_MS);

  let settled = 0;
  const hasHandshake = random.below(8) > 0;
  const requestCount = hasHandshake ? REQUESTS_SENT : 0;
  if (hasHandshake) session.receive(handshake);
  for (let sent = 0; sent < requestCount; sent += 1) {
    session.request(random.pick(REQUESTS), REQUEST_ARGUMENTS, START_MS, (result) => {
      settled += 1;
      count(result.ok ? 'reply' : `failed: ${result.error.kind}`);
    });
  }

  // The bytes come in chunks of a random size, sometimes all in one.
  const chunkMaxBytes = random.pick([1, 7, 64, 4096, 1 << 20]);
  for (let offset = 0; offset < bytes.length; ) {
    const end = offset + 1 + random.below(chunkMaxBytes);
    session.receive(bytes.subarray(offset, end));
    offset = end;
  }

  const output = session.takeOutput().length;
  assert.ok(output < OUTPUT_MAX_BYTES, `${output} bytes of output`);
  assert.ok(events * EVENT_BYTES <= bytes.length, 'the bytes are too few for so many events');

  session.expire(START_MS + 2 * SESSION_DEADLINE_MS);
  session.close({ kind: 'stopped' });
  assert.equal(closed, 1);
  assert.equal(settled, requestCount);
}

const ROUNDS = 1500;
/** Each of these must come at least once. */
const OUTCOMES = [
  'ready',
  'reply',
  'failed: violation',
  'failed: server',
  'failed: timeout',
  'protocol-violation',
  'stopped',
  'data',
];

test(`a damaged capture ends its session at worst, and throws no error (TONEARM_FUZZ_SEED=${SEED})`, () => {
  const random = new SeededRandom(SEED);
  const tally: Tally = new Map();
  for (let round = 0; round < ROUNDS; round += 1) {
    const bytes = damagedCapture(random);
    try {
      feedSession(bytes, random, tally);
    } catch (cause) {
      const input = bytes.length < 3000 ? bytes.toString('hex') : `${bytes.length} bytes`;
      throw new Error(`round ${round}: ${input}`, { cause });
    }
  }
  for (const outcome of OUTCOMES) assert.ok(tally.has(outcome), `${outcome} was never seen`);
});
