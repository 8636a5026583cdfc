// Measures the CPU of the daemon for each volume change of one stream by another program, with one listener,
// which is the commonest case. It is compared with that of a bare program of two threads that does only the
// indispensable work, and of one that also makes JSON of the record. Each has its own sound server, and they
// take turns, so that other load on the machine affects all.
//   node build/bench/change.js [--quick] [--json] [PARTS OF ROWS, such as 'packaged: 20 streams, 100']

import { startPulseAudio } from '../test/sound/servers.js';
import { LAUNCHES, type Launch } from './support/launch-flags.js';
import { startBare, startDaemon, startListened, warmUp } from './support/listened.js';
import { type Context, measurement } from './support/measurement.js';
import type { Row } from './support/rows.js';

interface Load {
  readonly what: string;
  readonly streams: number;
  readonly everyMs: number;
}

const LOADS: readonly Load[] = [
  { what: '20 streams, 100 changes/s', streams: 20, everyMs: 10 },
  { what: '1 stream, 100 changes/s', streams: 1, everyMs: 10 },
  { what: '20 streams, 50 ms between changes', streams: 20, everyMs: 50 },
];
const ROUNDS = 7;
const TURN_MS = 1500;

async function measure({ what, streams, everyMs }: Load, launch: Launch, context: Context): Promise<Row[]> {
  const daemon = await startListened(streams, startPulseAudio, (sound) => startDaemon(sound, launch));
  const bare = await startListened(streams, startPulseAudio, (sound) => startBare(sound, launch, 'bytes'));
  const record = await startListened(streams, startPulseAudio, (sound) => startBare(sound, launch, 'record'));
  const sides = [daemon, bare, record];
  await warmUp(sides, context);
  const samples = { daemon: [] as number[], bare: [] as number[], record: [] as number[] };
  const changes = Math.round(context.ms(TURN_MS) / everyMs);
  for (let round = context.rounds(ROUNDS); round > 0; round -= 1) {
    samples.daemon.push((await daemon.change(changes, everyMs)).cpuMs);
    samples.bare.push((await bare.change(changes, everyMs)).cpuMs);
    samples.record.push((await record.change(changes, everyMs)).cpuMs);
  }
  for (const side of sides) await side.end();
  const against = { what: 'a bare program of two threads', samples: samples.bare };
  const load = `${launch.what}: ${what}`;
  return [
    {
      what: `CPU for a change, ${load}`,
      unit: 'ms',
      samples: samples.daemon,
      against,
      goal: { atMost: 1.6 },
    },
    {
      what: `the bare program with the record's JSON, ${load}`,
      unit: 'ms',
      samples: samples.record,
      against,
    },
  ];
}

await measurement(async (context) => {
  const rows: Row[] = [];
  for (const launch of LAUNCHES) {
    for (const load of LOADS)
      if (context.selects(`${launch.what}: ${load.what}`))
        rows.push(...(await measure(load, launch, context)));
  }
  return rows;
});
