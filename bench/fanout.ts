// One event each 50 ms to 1, 100 and 1000 streams: the gateway against uWebSockets.js that writes constants of the same
// size to as many. Two processes, measured in turns; the streams are read by this one.
//   node build/bench/fanout.js

import { setTimeout as pause } from 'node:timers/promises';
import { median, quantile, rounded } from './support/figures.js';
import { Forked } from './support/fork.js';
import { StreamReaders } from './support/stream-readers.js';

/** A busy machine spoils some rounds and not the median, so the crowd has more of them. */
const CROWDS = [
  { count: 1, rounds: 3 },
  { count: 100, rounds: 3 },
  { count: 1000, rounds: 7 },
];
const WARM_UP_MS = 500;
const MEASURED_MS = 2500;
const EVENTS_PER_ROUND = MEASURED_MS / 50;

interface Side {
  readonly forked: Forked;
  readonly said: number;
  /** Microseconds of CPU per event, a figure per round. */
  readonly cpuUs: number[];
  /** Milliseconds, a figure per round. */
  readonly p50s: number[];
  readonly p99s: number[];
}

async function side(module: URL): Promise<Side> {
  return { ...(await Forked.start(module)), cpuUs: [], p50s: [], p99s: [] };
}

async function measure({ forked, said: port, cpuUs, p50s, p99s }: Side, count: number): Promise<void> {
  const readers = new StreamReaders();
  await readers.open(port, count);
  await forked.order({ do: 'begin' });
  await pause(WARM_UP_MS);
  readers.take();
  const before = await forked.order({ do: 'cpu' });
  await pause(MEASURED_MS);
  cpuUs.push(((await forked.order({ do: 'cpu' })) - before) / EVENTS_PER_ROUND);
  const heard = readers.take();
  if (heard.length < count * EVENTS_PER_ROUND * 0.9) throw new Error(`only ${heard.length} events came`);
  p50s.push(quantile(heard, 0.5));
  p99s.push(quantile(heard, 0.99));
  await forked.order({ do: 'end' });
  readers.close();
}

const rows: object[] = [];
const ours = await side(new URL('./support/fanout-gateway.js', import.meta.url));
const constants = await side(new URL('./support/fanout-constants.js', import.meta.url));
for (const { count, rounds } of CROWDS) {
  for (const each of [ours, constants]) {
    for (const figures of [each.cpuUs, each.p50s, each.p99s]) figures.length = 0;
  }
  for (let round = 0; round < rounds; round += 1) {
    await measure(ours, count);
    await measure(constants, count);
  }
  rows.push({
    streams: count,
    'tonearm, CPU us/event': rounded(median(ours.cpuUs), 0),
    'uWS, CPU us/event': rounded(median(constants.cpuUs), 0),
    'CPU ratio (goal 1.2)': rounded(median(ours.cpuUs) / median(constants.cpuUs)),
    'tonearm p50, ms': rounded(median(ours.p50s)),
    'p99, ms (goal 20)': rounded(median(ours.p99s)),
    'uWS p50, ms': rounded(median(constants.p50s)),
    'uWS p99, ms': rounded(median(constants.p99s)),
  });
}
await Promise.all([ours.forked.end(), constants.forked.end()]);
console.table(rows);
