// Decoding lists of sink inputs: our codec against the npm package pulseaudio.js, on the same captured bytes.
//   node build/bench/decode.js
// Both start from a whole frame and end with plain objects. pulseaudio.js is given its payload the way its client gives
// it (a Buffer without the header); ours goes through Framer and Reader. Rounds are interleaved, medians are printed.

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { REQUESTS } from '../src/protocol/pulse/commands.js';
import { Framer, HEADER_BYTES } from '../src/protocol/pulse/frame.js';
import { Reader } from '../src/protocol/pulse/reader.js';
import { TextCache } from '../src/protocol/pulse/text-cache.js';
import { NEWEST_VERSION } from '../src/protocol/pulse/wire.js';

const ROUNDS = 151;
const WARM_UP_ROUNDS = 30;
/** Short rounds, so that a busy machine spoils some of them and not the median; long enough for the clock. */
const RECORDS_PER_ROUND = 300;
const LISTS = [1, 30, 150].flatMap((count) => [
  { server: 'pulse', count },
  { server: 'pipewire', count },
]);

/** The little of pulseaudio.js that decodes a reply; its types do not export it. */
interface TheirCommand {
  readonly type: number;
}
interface TheirCommands {
  readonly Command: new (body: Buffer, header: Buffer) => TheirCommand;
  readonly GetSinkInputList: { readonly prototype: { processResponse(packet: TheirCommand): unknown[] } };
}
const theirs = createRequire(import.meta.url)('pulseaudio.js/dist/command') as TheirCommands;

function decodeTheirs(bytes: Buffer): number {
  const command = new theirs.Command(bytes.subarray(HEADER_BYTES), bytes.subarray(0, HEADER_BYTES));
  return theirs.GetSinkInputList.prototype.processResponse(command).length;
}

const framer = new Framer();
const texts = new TextCache();

function decodeOurs(bytes: Buffer): number {
  let count = 0;
  framer.push(bytes, (payload) => {
    const reader = new Reader(payload, NEWEST_VERSION, texts);
    reader.u32();
    reader.u32();
    count = REQUESTS.GET_SINK_INPUT_INFO_LIST.reply.read(reader).length;
    reader.finish();
  });
  return count;
}

/** Microseconds per decoded list. */
function time(decode: (bytes: Buffer) => number, bytes: Buffer, count: number): number {
  const repeats = Math.ceil(RECORDS_PER_ROUND / count);
  const start = process.hrtime.bigint();
  for (let left = repeats; left > 0; left -= 1) {
    if (decode(bytes) !== count) throw new Error(`decoded other than ${count} records`);
  }
  return Number(process.hrtime.bigint() - start) / 1000 / repeats;
}

const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;

const loaded = LISTS.map((list) => ({
  ...list,
  bytes: readFileSync(
    new URL(`../../test/golden/${list.server}-sink-inputs-${list.count}.bin`, import.meta.url),
  ),
  ours: [] as number[],
  theirs: [] as number[],
}));
for (let round = -WARM_UP_ROUNDS; round < ROUNDS; round += 1) {
  for (const list of loaded) {
    const ours = time(decodeOurs, list.bytes, list.count);
    const other = time(decodeTheirs, list.bytes, list.count);
    if (round >= 0) {
      list.ours.push(ours);
      list.theirs.push(other);
    }
  }
}
console.table(
  loaded.map((list) => ({
    list: `${list.server}, ${list.count} sink inputs`,
    bytes: list.bytes.length,
    'tonearm, us': Number(median(list.ours).toFixed(1)),
    'pulseaudio.js, us': Number(median(list.theirs).toFixed(1)),
    ratio: Number((median(list.theirs) / median(list.ours)).toFixed(2)),
  })),
);
