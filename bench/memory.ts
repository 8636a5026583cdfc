// Measures the memory of the daemon one minute after 500 streams of a real PulseAudio have changed their
// volumes, with some listeners, and have gone. It is compared with the memory at rest, and with that of the
// bare program, which makes JSON of each record but keeps none, and so shows what Node itself retains. Each
// program has its own sound server, and all run at the same time.
//   node build/bench/memory.js [--quick] [--json]

import { setTimeout as pause } from 'node:timers/promises';
import { Mixer } from '../test/contract/stream-mixer.js';
import { startPulseAudio } from '../test/sound/servers.js';
import { until } from '../test/until.js';
import { memoryMb } from './support/figures.js';
import { LAUNCHES, type Launch } from './support/launch-flags.js';
import { type Program, startBare, startDaemon } from './support/listened.js';
import { type Context, measurement } from './support/measurement.js';
import type { Row } from './support/rows.js';
import { StreamReaders } from './support/stream-readers.js';

const STREAMS = 500;
/** There are two outputs, because PulseAudio takes 256 streams on one. */
const OUTPUTS = ['living', 'kitchen'];
const LISTENERS = 20;
const REST_MS = 60_000;
const STORM_MS = 10_000;
const CHANGES_AT_ONCE = 50;
const LEVELS = 97;
const KNOWN_WITHIN_MS = 60_000;

interface Side {
  readonly what: string;
  readonly start: typeof startDaemon;
  /** Resolves when the program knows this many streams. */
  readonly knows: (program: Program, streams: number) => Promise<unknown>;
  readonly goal?: Row['goal'];
}

const DAEMON: Side = {
  what: 'Rss',
  start: startDaemon,
  knows: ({ port }, streams) =>
    until(
      `${streams} streams are listed`,
      async () => {
        const answer = await fetch(`http://127.0.0.1:${port}/audio/clients`);
        return ((await answer.json()) as object[]).length === streams;
      },
      KNOWN_WITHIN_MS,
    ),
  goal: { atMost: 15 },
};
const BARE: Side = {
  what: "Rss of the bare program with the record's JSON",
  start: (sound, launch) => startBare(sound, launch, 'record'),
  knows: () => Promise.resolve(),
};

async function measure({ what, start, knows, goal }: Side, launch: Launch, { ms }: Context): Promise<Row[]> {
  const sound = await startPulseAudio();
  const program = await start(sound, launch);
  await pause(ms(REST_MS));
  const restMb = memoryMb(program.pid).rss;
  const player = await sound.streams('player');
  const streams = await player.open(
    Array.from({ length: STREAMS }, (_, at) => ({ sink: OUTPUTS[at % OUTPUTS.length] ?? '' })),
  );
  await knows(program, STREAMS);
  const listeners = new StreamReaders();
  await listeners.open(program.port, LISTENERS);
  const mixer = await Mixer.connect(sound.socketPath);
  const end = performance.now() + ms(STORM_MS);
  for (let round = 0; performance.now() < end; round += 1) {
    const level = (round % LEVELS) / LEVELS;
    const changes = Array.from({ length: CHANGES_AT_ONCE }, (_, at) => {
      const { id } = streams[(round * CHANGES_AT_ONCE + at) % STREAMS] ?? { id: 0 };
      return mixer.setStreamVolume(id, level);
    });
    await Promise.all(changes);
  }
  const stormMb = memoryMb(program.pid).rss;
  listeners.close();
  mixer.close();
  await player.close();
  await knows(program, 0);
  await pause(ms(REST_MS));
  const afterMb = memoryMb(program.pid).rss;
  await program.end();
  await sound.stop();
  const row = (when: string, value: number): Row => ({
    what: `${what} ${when}, ${launch.what}`,
    unit: 'MB',
    samples: [value],
    against: { what: 'itself at rest', samples: [restMb] },
    compare: 'ours - theirs',
  });
  return [
    row(`after a storm with ${STREAMS} streams`, stormMb),
    { ...row('a minute after they are gone', afterMb), ...(goal && { goal }) },
  ];
}

await measurement(async (context) => {
  const sides = LAUNCHES.flatMap((launch) => [DAEMON, BARE].map((side) => measure(side, launch, context)));
  return (await Promise.all(sides)).flat();
});
