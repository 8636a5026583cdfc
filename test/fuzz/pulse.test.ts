// Mutated captures through Framer and Session: whatever comes, no error but WireError escapes the first, none escapes the second, and
// nothing comes out that did not go in. TONEARM_FUZZ_SEED=N repeats a run.

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { peaksOf } from '../../src/actors/audio/levels.js';
import type { RequestName } from '../../src/protocol/pulse/commands.js';
import { Framer, PAYLOAD_MAX_BYTES } from '../../src/protocol/pulse/frame.js';
import { Session } from '../../src/protocol/pulse/session.js';
import { WireError } from '../../src/protocol/pulse/wire.js';
import { PEAKS } from '../protocol/pulse/record-stream.js';
import { SEED, SeededRandom } from '../seeded-random.js';
import { damage } from './damaging-proxy.js';

const GOLDEN = new URL('../../../test/golden/', import.meta.url);
/** Large captures repeat what the small ones have. */
const SEED_MAX_BYTES = 50_000;
/** The arguments of all of them. */
const ARGS = { ...PEAKS, mask: 0x85, index: 7 };
const ASKED: readonly RequestName[] = [
  'GET_SINK_INPUT_INFO_LIST',
  'GET_SINK_INFO_LIST',
  'GET_SINK_INPUT_INFO',
  'GET_SERVER_INFO',
  'SUBSCRIBE',
  'CREATE_RECORD_STREAM',
];

const corpus = readdirSync(GOLDEN)
  .filter((name) => name.endsWith('.bin'))
  .sort()
  .map((name) => readFileSync(new URL(name, GOLDEN)))
  .filter((bytes) => bytes.length <= SEED_MAX_BYTES);
const handshake = readFileSync(new URL('pulse-handshake.bin', GOLDEN));

type Mutation = (bytes: Buffer, random: SeededRandom) => Buffer;
const other = (random: SeededRandom): Buffer => corpus[random.below(corpus.length)] ?? handshake;

const MUTATIONS: readonly Mutation[] = [
  damage,
  (bytes, random) => {
    const mutated = Buffer.from(bytes);
    if (mutated.length >= 4) {
      const word = random.pick([0, 1, 0xff, 0x7fffffff, 0xffffffff, PAYLOAD_MAX_BYTES, 0x4e4e4e4e]);
      mutated.writeUInt32BE(word, random.below(mutated.length - 3));
    }
    return mutated;
  },
  (bytes, random) => {
    const mutated = Buffer.from(bytes);
    mutated[random.below(bytes.length)] = random.pick([...Buffer.from('tNLBax10UmvVPf')]);
    return mutated;
  },
  (bytes, random) => {
    const at = random.below(bytes.length + 1);
    return Buffer.concat([bytes.subarray(0, at), other(random), bytes.subarray(at)]);
  },
];

/** Some mutations, and for half of the results a first header that is right again, so that what is inside gets read. */
function mutate(random: SeededRandom): Buffer {
  let bytes = other(random);
  for (let left = random.below(4); left > 0 && bytes.length > 0; left -= 1)
    bytes = random.pick(MUTATIONS)(bytes, random);
  if (random.below(2) === 0 && bytes.length > 20) {
    bytes = Buffer.from(bytes);
    bytes.writeUInt32BE(bytes.length - 20, 0);
    bytes.fill(0xff, 4, 8).fill(0, 8, 20);
  }
  return bytes;
}

/** Feeds in chunks; the largest sometimes take all at once. */
function feed(bytes: Buffer, random: SeededRandom, take: (chunk: Uint8Array) => void): void {
  const largest = random.pick([1, 7, 64, 4096, 1 << 20]);
  for (let at = 0; at < bytes.length; ) {
    const size = 1 + random.below(largest);
    take(bytes.subarray(at, at + size));
    at += size;
  }
}

function throughFramer(bytes: Buffer, random: SeededRandom): void {
  const framer = new Framer();
  let delivered = 0;
  try {
    feed(bytes, random, (chunk) =>
      framer.push(chunk, (_, start, end) => {
        delivered += 20 + end - start;
      }),
    );
  } catch (error) {
    if (!(error instanceof WireError)) throw error;
  }
  assert.ok(delivered <= bytes.length, 'more was delivered than received');
}

/** How often each outcome was seen: a fuzzer whose inputs all end alike would prove little. */
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
      session.request(random.pick(ASKED), ARGS, 0, (result) => {
        settled += 1;
        count(result.ok ? 'reply' : `failed: ${result.error.kind}`);
      });
    }
  } else settled = 2;
  feed(bytes, random, (chunk) => session.receive(chunk));
  const output = session.takeOutput().length;
  assert.ok(output < 1000, `${output} bytes of output`);
  assert.ok(events * 40 <= bytes.length, 'more events than bytes');
  session.expire(20);
  session.close({ kind: 'stopped' });
  assert.deepEqual([closed, settled], [1, 2]);
}

const ROUNDS = 1500;
const OUTCOMES = [
  ...['ready', 'reply', 'failed: violation', 'failed: server', 'failed: timeout'],
  ...['protocol-violation', 'stopped', 'data'],
];

test(`mutated captures end a session at worst (TONEARM_FUZZ_SEED=${SEED})`, () => {
  const random = new SeededRandom(SEED);
  const tally: Tally = new Map();
  for (let round = 0; round < ROUNDS; round += 1) {
    const bytes = mutate(random);
    try {
      throughFramer(bytes, random);
      throughSession(bytes, random, tally);
    } catch (cause) {
      const input = bytes.length < 3000 ? bytes.toString('hex') : `${bytes.length} bytes`;
      throw new Error(`round ${round}: ${input}`, { cause });
    }
  }
  for (const outcome of OUTCOMES) assert.ok(tally.has(outcome), `${outcome} was never seen`);
});
