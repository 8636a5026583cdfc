// Measures the time from the sound server's event, as the program that changes the volumes gets it, to the
// SSE bytes at a client. It is measured for the daemon, for the bare program of two threads, and for the
// bare program that also makes JSON of the record. Each has its own real sound server, and they take turns.
// One process takes all times, so they share a clock.
//   node build/bench/latency.js [--quick] [--json] [PARTS OF ROWS, such as 'pipewire']

import { SOUND_SERVERS } from '../test/sound/servers.js';
import { quantile } from './support/figures.js';
import { LAUNCHES } from './support/launch-flags.js';
import { type Listened, startBare, startDaemon, startListened, warmUp } from './support/listened.js';
import { type Context, measurement } from './support/measurement.js';
import type { Row } from './support/rows.js';

const STREAMS = 20;
/** These spacings are no divisors of any timer's period, so that changes do not fall in step with one. */
const SPACINGS = [
  { everyMs: 7.3, changes: 300 },
  { everyMs: 51.7, changes: 80 },
];
const ROUNDS = 5;
const QUANTILES = [
  { what: 'p50', part: 0.5, goal: 0.22 },
  { what: 'p99', part: 0.99, goal: 1 },
];

/** For each side, the delays of each round, in ms. */
async function measureDelays(
  sides: readonly Listened[],
  { everyMs, changes }: (typeof SPACINGS)[number],
  { rounds, ms }: Context,
): Promise<readonly (readonly number[])[][]> {
  const delays = sides.map(() => [] as (readonly number[])[]);
  for (let round = rounds(ROUNDS); round > 0; round -= 1) {
    for (const [at, side] of sides.entries())
      delays[at]?.push((await side.change(ms(changes), everyMs)).delaysMs);
  }
  return delays;
}

await measurement(async (context) => {
  const rows: Row[] = [];
  const [plain] = LAUNCHES;
  for (const { kind, start } of SOUND_SERVERS.filter((server) => context.selects(server.kind))) {
    const sides = [
      await startListened(STREAMS, start, (sound) => startDaemon(sound, plain)),
      await startListened(STREAMS, start, (sound) => startBare(sound, plain, 'bytes')),
      await startListened(STREAMS, start, (sound) => startBare(sound, plain, 'record')),
    ];
    await warmUp(sides, context);
    for (const spacing of SPACINGS) {
      const [ours = [], bare = [], record = []] = await measureDelays(sides, spacing, context);
      for (const { what, part, goal } of QUANTILES) {
        const conditions = `${kind}, one each ${spacing.everyMs} ms, ${what}`;
        const quantilesOf = (side: readonly (readonly number[])[]) =>
          side.map((delays) => quantile(delays, part));
        const against = { what: 'a bare program of two threads', samples: quantilesOf(bare) };
        const compared = { unit: 'ms', against, compare: 'ours - theirs' } as const;
        rows.push({
          what: `event to SSE bytes, ${conditions}`,
          samples: quantilesOf(ours),
          ...compared,
          goal: { atMost: goal },
        });
        rows.push({
          what: `the same of the bare program with the record's JSON, ${conditions}`,
          samples: quantilesOf(record),
          ...compared,
        });
      }
    }
    for (const side of sides) await side.end();
  }
  return rows;
});
