// Sends one event each 50 ms to 1, 100 and 1000 streams, and compares the gateway with uWebSockets.js that
// writes constants of the same size to as many streams. A third program is uWebSockets.js that also writes a
// comment after each event, as the gateway does. The comment ends the event's HTTP chunk
// (gateway/response-stream.ts). The three processes are measured in turns, and this process reads the
// streams. Then it measures the memory of the gateway with a crowd that never reads, where the kernel holds
// little for each stream.
//   node build/bench/fanout.js [--quick] [--json]       (needs root, unshare and ip)

import { writeFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { memoryMb, quantile } from './support/figures.js';
import { Forked } from './support/fork.js';
import { type Context, measurement } from './support/measurement.js';
import { inOwnNetwork } from './support/own-network.js';
import type { Row } from './support/rows.js';
import { StreamReaders } from './support/stream-readers.js';

/** A busy machine spoils some rounds and not the median, so the largest crowd has more rounds. */
const CROWDS = [
  { count: 1, rounds: 3, goals: {} },
  { count: 100, rounds: 3, goals: {} },
  { count: 1000, rounds: 7, goals: { cpu: { atMost: 1.1 }, p99: { of: 'result', atMost: 20 } } },
] as const;
const SILENT = 1000;
const SILENT_ROUNDS = 3;
/**
 * Long enough to fill what the kernel holds, and less than the 10 s after which uWebSockets.js closes a
 * stream that takes nothing.
 */
const SILENT_MS = 8000;
/**
 * A socket holds this much in each direction. By default it would hold 4 MB of events before the gateway
 * notices that nobody reads.
 */
const KERNEL_BYTES = 8192;
const GATEWAY = new URL('./support/fanout-gateway.js', import.meta.url);
const CONSTANTS = new URL('./support/fanout-constants.js', import.meta.url);
const WARM_UP_MS = 500;
const MEASURED_MS = 2500;

interface Side {
  readonly forked: Forked;
  readonly firstValue: number;
}

/** Values of each round: microseconds of CPU per event, and the delay of an event in ms. */
interface Samples {
  readonly cpu: number[];
  readonly p50: number[];
  readonly p99: number[];
}

async function measureRound(
  { forked, firstValue: port }: Side,
  count: number,
  samples: Samples,
  context: Context,
): Promise<void> {
  const readers = new StreamReaders();
  await readers.open(port, count);
  await forked.order({ do: 'begin' });
  await pause(WARM_UP_MS);
  readers.takeLatencies();
  const measuredMs = context.ms(MEASURED_MS);
  const before = await forked.order({ do: 'cpu' });
  await pause(measuredMs);
  const cpu = (await forked.order({ do: 'cpu' })) - before;
  const delays = readers.takeLatencies();
  // A busy machine makes fewer changes than it should, but each event is sent to every stream.
  const events = delays.length / count;
  if (events === 0) throw new Error('no events came');
  samples.cpu.push(cpu / events);
  samples.p50.push(quantile(delays, 0.5));
  samples.p99.push(quantile(delays, 0.99));
  await forked.order({ do: 'end' });
  readers.close();
}

/** The resident memory, in MB, of a gateway whose streams are all read, or none of them. */
async function crowdMemory({ areRead }: { areRead: boolean }): Promise<number> {
  const { forked, firstValue } = await Forked.start(GATEWAY);
  const readers = new StreamReaders('', areRead);
  await readers.open(firstValue, SILENT);
  await forked.order({ do: 'begin' });
  await pause(SILENT_MS);
  const { rss } = memoryMb(forked.pid);
  await forked.end();
  readers.close();
  return rss;
}

async function silentRow({ rounds }: Context): Promise<Row> {
  for (const direction of ['rmem', 'wmem'])
    writeFileSync(`/proc/sys/net/ipv4/tcp_${direction}`, `4096 ${KERNEL_BYTES} ${KERNEL_BYTES}`);
  const silent = [] as number[];
  const read = [] as number[];
  for (let left = rounds(SILENT_ROUNDS); left > 0; left -= 1) {
    silent.push(await crowdMemory({ areRead: false }));
    read.push(await crowdMemory({ areRead: true }));
  }
  return {
    what: `Rss with ${SILENT} streams that nobody reads`,
    unit: 'MB',
    samples: silent,
    against: { what: `with ${SILENT} that are read`, samples: read },
    compare: 'ours - theirs',
    goal: { atMost: 4 },
  };
}

inOwnNetwork();
await measurement(async (context) => {
  const ours = await Forked.start(GATEWAY);
  const constants = await Forked.start(CONSTANTS);
  const ended = await Forked.start(CONSTANTS, 'ended');
  const rows: Row[] = [];
  for (const { count, rounds, goals } of CROWDS) {
    const samples = { ours: noSamples(), uws: noSamples(), ended: noSamples() };
    for (let left = context.rounds(rounds); left > 0; left -= 1) {
      await measureRound(ours, count, samples.ours, context);
      await measureRound(constants, count, samples.uws, context);
      await measureRound(ended, count, samples.ended, context);
    }
    const row = (what: keyof Samples, unit: string): Row => ({
      what: `an event to ${count} streams, ${what === 'cpu' ? 'CPU' : what}`,
      unit,
      samples: samples.ours[what],
      against: { what: 'uWS writing constants', samples: samples.uws[what] },
      ...(what in goals ? { goal: goals[what as keyof typeof goals] } : {}),
    });
    const { goal: _gatewayGoal, ...gatewayRow } = row('cpu', 'us');
    const endedRow = {
      ...gatewayRow,
      what: `uWS ending each chunk, ${count} streams, CPU`,
      samples: samples.ended.cpu,
    };
    rows.push(row('cpu', 'us'), row('p50', 'ms'), row('p99', 'ms'), endedRow);
  }
  await Promise.all([ours, constants, ended].map(({ forked }) => forked.end()));
  rows.push(await silentRow(context));
  return rows;
});

function noSamples(): Samples {
  return { cpu: [], p50: [], p99: [] };
}
