// From a volume change by another program to the SSE bytes at a client, on real sound servers, against a bare probe on the
// same server that only receives the event. One process takes all times, so they share a clock.
//   node build/bench/latency.js

import { Link } from '../src/actors/dial.js';
import { AUDIO_MASK, type SubscriptionEvent } from '../src/protocol/pulse/records.js';
import { Daemon } from '../test/contract/daemon.js';
import { SOUND_SERVERS } from '../test/sound/servers.js';

const CHANGES = 1000;
const WARM_UP_CHANGES = 100;
/** Not a divisor of any timer's period, so that changes do not fall in step with one. */
const EVERY_MS = 7.3;
const RAW_BASE = 20_000;
const STEP_RAW = 700;
const STEPS = 50;

/** A ready connection to the sound server. */
function connectTo(path: string, onEvent: (event: SubscriptionEvent) => void): Promise<Link> {
  return new Promise((resolve, reject) => {
    const session = {
      clientProps: { 'application.name': 'probe' },
      authDeadlineMs: 5000,
      requestDeadlineMs: 5000,
      pendingMax: 64,
    };
    const link: Link = new Link(
      { path, connectDeadlineMs: 5000, session },
      { onReady: () => resolve(link), onEvent, onClosed: (reason) => reject(new Error(reason.kind)) },
    );
  });
}

function quantile(sorted: readonly number[], part: number): number {
  return Number((sorted[Math.floor(sorted.length * part)] ?? Number.NaN).toFixed(2));
}

interface Waiting {
  readonly begun: number;
  probe?: number;
  stream?: number;
}

async function measure({ kind, start }: (typeof SOUND_SERVERS)[number]): Promise<object[]> {
  const sound = await start();
  const daemon = await Daemon.start({ env: sound.env, config: 'systemd: {enabled: false}\n' });
  await daemon.backend('audio', 'up');
  const stream = await daemon.events('?types=audio.output.updated');
  const { id } = (await daemon.read<{ id: number }[]>('/audio/outputs'))[0] ?? { id: 0 };
  let waiting: Waiting = { begun: 0 };
  let arrived: () => void = () => undefined;
  const note = (which: 'probe' | 'stream'): void => {
    waiting[which] ??= performance.now() - waiting.begun;
    if (waiting.probe !== undefined && waiting.stream !== undefined) arrived();
  };
  const probe = await connectTo(sound.socketPath, ({ facility, index }) => {
    if (facility === 'sink' && index === id) note('probe');
  });
  await new Promise((done) => probe.request('SUBSCRIBE', { mask: AUDIO_MASK }, done));
  const setter = await connectTo(sound.socketPath, () => undefined);
  const taken: Waiting[] = [];
  for (let change = 0; change < CHANGES; change += 1) {
    const volume = RAW_BASE + (change % STEPS) * STEP_RAW;
    await new Promise<void>((resolve) => {
      arrived = resolve;
      const seen = stream.events.length;
      void stream.until(({ events }) => events.length > seen).then(() => note('stream'));
      waiting = { begun: performance.now() };
      setter.request('SET_SINK_VOLUME', { index: id, volume: [volume, volume] }, () => undefined);
    });
    if (change >= WARM_UP_CHANGES) taken.push(waiting);
    await new Promise((resolve) => setTimeout(resolve, EVERY_MS));
  }
  probe.close({ kind: 'stopped' });
  setter.close({ kind: 'stopped' });
  await daemon.stop();
  await sound.stop();
  const row = (what: string, of: (one: Waiting) => number): object => {
    const sorted = taken.map(of).sort((a, b) => a - b);
    return { server: kind, what, 'p50, ms': quantile(sorted, 0.5), 'p99, ms': quantile(sorted, 0.99) };
  };
  return [
    row('event at a bare probe', ({ probe: at = Number.NaN }) => at),
    row('SSE bytes at a client', ({ stream: at = Number.NaN }) => at),
    row('SSE bytes after the probe', ({ probe: from = Number.NaN, stream: to = Number.NaN }) => to - from),
  ];
}

const rows: object[] = [];
for (const server of SOUND_SERVERS) rows.push(...(await measure(server)));
console.table(rows);
