// Measures how many nodes one MQTT broker can serve. The broker is a mosquitto of this machine. Each node
// has a bridge, 4 outputs and 6 units, and a tenth of the nodes has 10 volume changes a second. Then the
// broker is killed, so that all bridges come back at once to a broker that has forgotten everything.
//   node build/bench/fleet.js [--quick] [--json] [PARTS OF ROWS, such as '10 nodes']       (needs mosquitto)

import { setTimeout as pause } from 'node:timers/promises';
import { type Broker, startBroker } from '../test/broker/mosquitto.js';
import { retained, startSpy } from '../test/broker/spy.js';
import { until } from '../test/until.js';
import { cpuMs, memoryMb, quantile } from './support/figures.js';
import { Forked } from './support/fork.js';
import { type Context, measurement } from './support/measurement.js';
import type { Row } from './support/rows.js';

const FLEETS = [10, 100, 500];
const WATCHED_MS = 10_000;
const UP_DEADLINE_MS = 120_000;
const FLEET = new URL('./support/fleet-process.js', import.meta.url);

async function untilAllUp(forked: Forked, count: number): Promise<void> {
  await until(
    `${count} bridges are up`,
    async () => (await forked.order({ do: 'up' })) === count,
    UP_DEADLINE_MS,
  );
}

/** The number of retained messages of the whole fleet. */
async function countRetained(broker: Broker): Promise<number> {
  return (await retained(broker.url)).size;
}

/** The cost of the volume changes: CPU of the broker and of all bridges, and the delay of each message. */
interface ChangeCosts {
  readonly messages: number;
  readonly brokerCpuMs: number;
  readonly bridgesCpuMs: number;
  readonly delays: readonly number[];
}

async function measureChanges(broker: Broker, forked: Forked, watchedMs: number): Promise<ChangeCosts> {
  const spy = await startSpy(broker.url, 'tonearm/+/audio/outputs/alsa');
  await pause(1000);
  const from = spy.received.length;
  const brokerBefore = cpuMs(broker.pid);
  const bridgesBefore = await forked.order({ do: 'cpu' });
  await forked.order({ do: 'move', with: watchedMs });
  const received = spy.received.slice(from);
  const costs = {
    messages: received.length,
    brokerCpuMs: cpuMs(broker.pid) - brokerBefore,
    bridgesCpuMs: ((await forked.order({ do: 'cpu' })) - bridgesBefore) / 1000,
    delays: received.map(({ text, at }) => performance.timeOrigin + at - Number(JSON.parse(text).props.at)),
  };
  await spy.end();
  return costs;
}

/** Seconds from the broker's return until all is retained again. */
async function measureReturn(
  broker: Broker,
  forked: Forked,
  retainedCount: number,
  count: number,
): Promise<number> {
  await broker.end('SIGKILL');
  await pause(1000);
  await broker.start({ forget: true });
  const begun = performance.now();
  await until(
    'all is retained again',
    async () => (await countRetained(broker)) === retainedCount,
    UP_DEADLINE_MS,
  );
  await untilAllUp(forked, count);
  return (performance.now() - begun) / 1000;
}

async function measure(count: number, { ms }: Context): Promise<readonly Row[]> {
  const broker = await startBroker({ lines: ['max_queued_messages 0', 'log_type none'] });
  const begun = performance.now();
  const { forked } = await Forked.start(FLEET, broker.url, String(count));
  try {
    await untilAllUp(forked, count);
    const joinedS = (performance.now() - begun) / 1000;
    const retainedCount = await countRetained(broker);
    const { messages, brokerCpuMs, bridgesCpuMs, delays } = await measureChanges(
      broker,
      forked,
      ms(WATCHED_MS),
    );
    const perSecond = 1000 / ms(WATCHED_MS);
    const row = (what: string, unit: string, value: number): Row => ({
      what: `${count} nodes: ${what}`,
      unit,
      samples: [value],
    });
    return [
      row('retained messages', '', retainedCount),
      row('all joined', 's', joinedS),
      row('published', '/s', messages * perSecond),
      row('CPU of the broker', '% of a core', (brokerCpuMs * 100) / ms(WATCHED_MS)),
      row('CPU of a moving bridge', 'ms/s', (bridgesCpuMs * perSecond) / Math.max(1, count / 10)),
      { what: `${count} nodes: change to subscriber`, unit: 'ms', samples: delays },
      row('change to subscriber, p99', 'ms', quantile(delays, 0.99)),
      row('the broker', 'MB', memoryMb(broker.pid).rss),
      row('back after a restart', 's', await measureReturn(broker, forked, retainedCount, count)),
    ];
  } finally {
    await forked.end();
    await broker.stop();
  }
}

await measurement(async (context) => {
  const rows: Row[] = [];
  for (const count of FLEETS.filter((nodes) => context.selects(`${nodes} nodes`)))
    rows.push(...(await measure(count, context)));
  return rows;
});
