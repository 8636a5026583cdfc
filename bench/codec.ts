// Compares the codec of the sound server's protocol with two others, on the same bytes: the npm package
// pulseaudio.js, and libpulse's own. They decode captured lists of 1, 30 and 150 sink inputs, and a list of
// 500, which is composed of the 150. A list is decoded into objects, whole and in chunks of 64 bytes. It is
// read for the first time, or again and again, as the daemon reads it at every change. They also encode two
// commands, and the heap of a decoded record is measured.
//   node build/bench/codec.js [--quick] [--json] [PARTS OF ROWS, such as encoding]

import assert from 'node:assert/strict';
import { changed, chunksOf, type List, listOf } from './support/captures.js';
import { CODECS, type Codec, type Encoded } from './support/codecs.js';
import { Forked, ownCpu } from './support/fork.js';
import { LibPulse } from './support/libpulse.js';
import { type Context, measurement } from './support/measurement.js';
import type { Row } from './support/rows.js';

const ROUNDS = 101;
const WARM_UP_ROUNDS = 20;
/**
 * Rounds are short, so that other load on the machine spoils a few of them and not the median. They are long
 * enough for the clock.
 */
const RECORDS_PER_ROUND = 300;
const COMMANDS_PER_ROUND = 1000;
const COUNTS = [1, 30, 150, 500];
const LONGEST_CAPTURED = 150;
const HEADER_BYTES = 20;
const COMMAND_AND_TAG_BYTES = 10;
const GOAL = { atLeast: 10 };
const HEAP = new URL('./support/codec-heap.js', import.meta.url);
const HEAP_FLAGS = ['--expose-gc', '--min-semi-space-size=64', '--max-semi-space-size=64'];
const HEAP_ROUNDS = 5;

/** Bytes for each record, a figure per round. */
type Samples = Readonly<Record<'allocated' | 'kept', Readonly<Record<'ours' | 'theirs', number[]>>>>;

/**
 * A task, with a function of each codec that can do it. Each function gives nanoseconds for one record or
 * command.
 */
interface Work {
  readonly what: string;
  readonly ours: () => number;
  readonly theirs?: () => number;
  readonly libpulse?: ((program: LibPulse) => Promise<number>) | undefined;
}

const { ours, theirs } = CODECS;

/**
 * Nanoseconds of CPU for one record or command, if `act` processes `count` of them. Time by the clock means
 * little on a busy machine.
 */
function cpuNs(times: number, count: number, act: () => void): number {
  const begun = ownCpu();
  for (let left = times; left > 0; left -= 1) act();
  return ((ownCpu() - begun) * 1000) / times / count;
}

function decoding(makeCodec: () => Codec, chunks: readonly Buffer[], count: number): () => number {
  const codec = makeCodec();
  return () =>
    cpuNs(Math.ceil(RECORDS_PER_ROUND / count), count, () => {
      if (codec.decode(chunks).length !== count) throw new Error(`${codec.name}: not ${count} records`);
    });
}

/** Decodes a list of which each stream has changed since the last time. */
function decodingChanged(list: List): () => number {
  const codec = ours();
  const lists = [[list.bytes], [changed(list).bytes]];
  return () => cpuNs(1, 2 * list.count, () => void lists.map((chunks) => codec.decode(chunks)));
}

function decodingFirst({ bytes, count }: List): () => number {
  return () => {
    const codec = ours();
    return cpuNs(1, count, () => void codec.decode([bytes]));
  };
}

function listWork(list: List, frameIndex: number): readonly Work[] {
  const { server, count, bytes } = list;
  const name = `${count} sink inputs of ${server}`;
  const times = Math.ceil(RECORDS_PER_ROUND / count);
  const whole: Work = {
    what: `decoding ${name}`,
    ours: decoding(ours, [bytes], count),
    theirs: decoding(theirs, [bytes], count),
    libpulse: async (program) => (await program.decode(frameIndex, times)) / count,
  };
  const chunks = chunksOf(bytes);
  const inChunks: Work = {
    what: `decoding ${name}, in chunks of 64 bytes`,
    ours: decoding(ours, chunks, count),
    theirs: decoding(theirs, chunks, count),
  };
  return [whole, inChunks];
}

/** Decoding at a refresh where a property of each stream has changed, and at the first reading. */
function changedAndFirstWork(list: List): readonly Work[] {
  const name = `${list.count} sink inputs of ${list.server}`;
  const theirDecoding = decoding(theirs, [list.bytes], list.count);
  return [
    {
      what: `decoding ${name}, a property of each changed`,
      ours: decodingChanged(list),
      theirs: theirDecoding,
    },
    { what: `decoding ${name}, never seen`, ours: decodingFirst(list), theirs: theirDecoding },
  ];
}

function commandWork(what: Encoded, title: string): Work {
  const encoding = (makeCodec: () => Codec) => {
    const codec = makeCodec();
    return () => cpuNs(COMMANDS_PER_ROUND, 1, () => void codec.encode[what]());
  };
  return {
    what: `encoding ${title}`,
    ours: encoding(ours),
    theirs: encoding(theirs),
    libpulse: (program) => program.encode(what, COMMANDS_PER_ROUND),
  };
}

/**
 * Checks that all three write the same. With pulseaudio.js only what follows the command and the tag is
 * compared, because it gives each request a new tag.
 */
async function checkAgreement(program: LibPulse | undefined): Promise<void> {
  for (const what of ['volume', 'name'] as const) {
    const [written] = ours().encode[what]();
    const payload = Buffer.from(written ?? []).subarray(HEADER_BYTES);
    const other = Buffer.concat(theirs().encode[what]()).subarray(HEADER_BYTES);
    assert.deepEqual(other.subarray(COMMAND_AND_TAG_BYTES), payload.subarray(COMMAND_AND_TAG_BYTES));
    if (program !== undefined) assert.deepEqual(await program.encoded(what), payload);
  }
}

async function measureWork(
  work: readonly Work[],
  program: LibPulse | undefined,
  context: Context,
): Promise<Row[]> {
  const measured = work.map((task) => ({
    ...task,
    samples: [] as number[],
    samplesOfJs: [] as number[],
    samplesOfC: [] as number[],
  }));
  for (let round = -context.rounds(WARM_UP_ROUNDS); round < context.rounds(ROUNDS); round += 1) {
    for (const task of measured) {
      const ofOurs = task.ours();
      const ofJs = task.theirs?.();
      const ofC = program && (await task.libpulse?.(program));
      const isWarmUp = round < 0;
      if (isWarmUp) continue;
      task.samples.push(ofOurs);
      if (ofJs !== undefined) task.samplesOfJs.push(ofJs);
      if (ofC !== undefined) task.samplesOfC.push(ofC);
    }
  }
  return measured.flatMap(({ what, samples, samplesOfJs, samplesOfC }) => {
    const row = { what, unit: 'ns', samples, compare: 'theirs / ours' } as const;
    // Only a name without a comma has a goal. It stands for a list that is decoded whole, again and again,
    // such as `decoding 30 sink inputs of pulse`.
    const hasGoal = /^decoding [^,]*$/.test(what);
    return [
      {
        ...row,
        against: { what: 'pulseaudio.js', samples: samplesOfJs },
        ...(hasGoal ? { goal: GOAL } : {}),
      },
      ...(samplesOfC.length === 0 ? [] : [{ ...row, against: { what: 'libpulse', samples: samplesOfC } }]),
    ];
  });
}

/** libpulse keeps nothing, so its figure is what a record takes while its callback runs. */
async function measureHeap(
  list: List,
  frameIndex: number,
  program: LibPulse | undefined,
  context: Context,
): Promise<Row[]> {
  const { server, count } = list;
  const samples = { allocated: { ours: [], theirs: [] }, kept: { ours: [], theirs: [] } } as Samples;
  for (const whose of ['ours', 'theirs'] as const) {
    const { forked } = await Forked.launch({ flags: HEAP_FLAGS, env: {} }, HEAP, server, `${count}`, whose);
    for (let left = context.rounds(HEAP_ROUNDS); left > 0; left -= 1) {
      for (const order of ['allocated', 'kept'] as const)
        samples[order][whose].push(await forked.order({ do: order }));
    }
    await forked.end();
  }
  const row = (order: keyof Samples, against: { what: string; samples: readonly number[] }): Row => ({
    what: `heap ${order} for a sink input of ${server}`,
    unit: 'bytes',
    samples: samples[order].ours,
    against,
    compare: 'theirs / ours',
  });
  const samplesOfC = program === undefined ? [] : [(await program.heap(frameIndex)) / count];
  return [
    row('allocated', { what: 'pulseaudio.js', samples: samples.allocated.theirs }),
    row('kept', { what: 'pulseaudio.js', samples: samples.kept.theirs }),
    ...(program === undefined ? [] : [row('kept', { what: 'libpulse', samples: samplesOfC })]),
  ];
}

await measurement(async (context) => {
  const lists = COUNTS.flatMap((count) => [listOf('pulse', count), listOf('pipewire', count)]);
  const started = LibPulse.start(lists.map(({ bytes }) => bytes));
  const program = typeof started === 'string' ? undefined : started;
  if (typeof started === 'string') context.note(started);
  await checkAgreement(program);
  const long = lists.filter(({ count }) => count === LONGEST_CAPTURED);
  const work = [
    ...lists.flatMap((list, frameIndex) => listWork(list, frameIndex)),
    ...long.flatMap(changedAndFirstWork),
    commandWork('volume', "a stream's volume"),
    commandWork('name', 'a name with six properties'),
  ];
  const rows = await measureWork(
    work.filter(({ what }) => context.selects(what)),
    program,
    context,
  );
  for (const list of context.selects('heap') ? long : [])
    rows.push(...(await measureHeap(list, lists.indexOf(list), program, context)));
  await program?.end();
  return rows;
});
