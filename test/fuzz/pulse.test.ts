// Feeds damaged captures to a session of the sound server's protocol: no error may escape it, and the number
// of its events is bounded by the number of bytes. TONEARM_FUZZ_SEED=N repeats a run.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { peaksOf } from '../../src/actors/audio/levels.js';
import type { RequestName } from '../../src/protocol/pulse/commands.js';
import { Session } from '../../src/protocol/pulse/session.js';
import { GOLDEN } from '../protocol/pulse/captures.js';
import { PEAKS } from '../protocol/pulse/record-stream.js';
import { SEED, SeededRandom } from '../seeded-random.js';
import { damage } from './damaging-proxy.js';

/** Larger captures are left out, because they only repeat what the small ones have. */
const SEED_MAX_BYTES = 50_000;
/** The arguments of every request in `REQUESTS`; each reads those that it needs. */
const ARGS = { ...PEAKS, mask: 0x85, index: 7 };
const REQUESTS: readonly RequestName[] = [
  'GET_SINK_INPUT_INFO_LIST',
  'GET_SINK_INFO_LIST',
  'GET_SINK_INPUT_INFO',
  'GET_SERVER_INFO',
  'SUBSCRIBE',
  'CREATE_RECORD_STREAM',
];

const corpus = GOLDEN.files.filter(({ bytes }) => bytes <= SEED_MAX_BYTES).map((file) => GOLDEN.read(file));
const handshake = GOLDEN.read({ file: 'pulse-handshake.bin' });

const HEADER_BYTES = 20;

const anyCapture = (random: SeededRandom): Buffer => random.pick(corpus);

/**
 * A capture with up to three damages. Half of the results get a correct first header again, so that the
 * session also reads what follows it.
 */
function damagedCapture(random: SeededRandom): Buffer {
  let bytes = anyCapture(random);
  for (let left = random.below(4); left > 0 && bytes.length > 0; left -= 1) {
    const at = random.below(bytes.length + 1);
    const isSpliced = random.chance(0.2);
    bytes = isSpliced
      ? Buffer.concat([bytes.subarray(0, at), anyCapture(random), bytes.subarray(at)])
      : damage(bytes, random);
  }
  if (random.chance(0.5) && bytes.length > HEADER_BYTES) {
    bytes = Buffer.from(bytes);
    bytes.writeUInt32BE(bytes.length - HEADER_BYTES, 0);
    bytes.fill(0xff, 4, 8).fill(0, 8, HEADER_BYTES);
  }
  return bytes;
}

/** How often each outcome has come: a fuzzer whose inputs all have the same outcome would prove little. */
type Tally = Map<string, number>;

function throughSession(bytes: Buffer, random: SeededRandom, tally: Tally): void {
  const count = (what: string): void => void tally.set(what, (tally.get(what) ?? 0) + 1);
  let closed = 0;
  let events = 0;
  const session = new Session(
    { clientProps: {}, authDeadlineMs: 10, requestDeadlineMs: 10, pendingMax: 4 },
    {
      onReady: () => count('ready'),
      onEvent: () => {
        events += 1;
      },
      onData: (stream, data) => {
        count('data');
        const peaks = peaksOf(data, 1 + (stream % 4));
        assert.ok(peaks === undefined || peaks.every((peak) => peak >= 0 && peak <= 1), `${peaks}`);
      },
      onClosed: (reason) => {
        closed += 1;
        count(reason.kind);
      },
    },
  );
  session.open(0);
  let settled = 0;
  if (random.below(8) > 0) {
    session.receive(handshake);
    for (let left = 2; left > 0; left -= 1) {
      session.request(random.pick(REQUESTS), ARGS, 0, (result) => {
        settled += 1;
        count(result.ok ? 'reply' : `failed: ${result.error.kind}`);
      });
    }
  } else settled = 2;
  // The bytes come in chunks of a random size, sometimes all in one.
  const largest = random.pick([1, 7, 64, 4096, 1 << 20]);
  for (let at = 0; at < bytes.length; ) {
    const end = at + 1 + random.below(largest);
    session.receive(bytes.subarray(at, end));
    at = end;
  }
  const output = session.takeOutput().length;
  assert.ok(output < 1000, `${output} bytes of output`);
  assert.ok(events * 40 <= bytes.length, 'more events than bytes');
  session.expire(20);
  session.close({ kind: 'stopped' });
  assert.deepEqual([closed, settled], [1, 2]);
}

const ROUNDS = 1500;
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
      throughSession(bytes, random, tally);
    } catch (cause) {
      const input = bytes.length < 3000 ? bytes.toString('hex') : `${bytes.length} bytes`;
      throw new Error(`round ${round}: ${input}`, { cause });
    }
  }
  for (const outcome of OUTCOMES) assert.ok(tally.has(outcome), `${outcome} was never seen`);
});
