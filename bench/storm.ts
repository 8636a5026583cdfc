// GETs of the daemon at rest and under an audio storm: 1000 volume changes a second by a real client, 100 open streams.
// GETs are asked at a steady rate, whatever the answers take; storm, streams and GETs have a process each.
//   node build/bench/storm.js

import { connect } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { Daemon } from '../test/contract/daemon.js';
import { startPulseAudio } from '../test/sound/servers.js';
import { until } from '../test/until.js';
import { cpuMs, median, quantile, rounded } from './support/figures.js';
import { Forked } from './support/fork.js';

const STREAMS = 100;
const ROUNDS = 6;
const ROUND_MS = 4000;
const CHANGES_PER_ROUND = ROUND_MS;
const GET_EVERY_MS = 5;
const LAST_HUNDREDTHS = 77;

/** Milliseconds from each request to the end of its answer's first chunk. */
async function getLatencies(port: number, durationMs: number): Promise<readonly number[]> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true });
  const taken: number[] = [];
  let asked = performance.now();
  let answered: () => void = () => undefined;
  socket.on('data', () => {
    taken.push(performance.now() - asked);
    answered();
  });
  const end = performance.now() + durationMs;
  while (performance.now() < end) {
    await new Promise<void>((resolve) => {
      answered = resolve;
      asked = performance.now();
      socket.write('GET /audio HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n');
    });
    await pause(GET_EVERY_MS);
  }
  socket.destroy();
  return taken;
}

interface Figures {
  gets: number;
  readonly p50s: number[];
  readonly p99s: number[];
}

function figures(): Figures {
  return { gets: 0, p50s: [], p99s: [] };
}

function note(into: Figures, latencies: readonly number[]): void {
  into.gets += latencies.length;
  into.p50s.push(quantile(latencies, 0.5));
  into.p99s.push(quantile(latencies, 0.99));
}

interface Output {
  readonly id: number;
  readonly name: string;
}

const sound = await startPulseAudio();
const daemon = await Daemon.start({ env: sound.env, config: 'systemd: {enabled: false}\n' });
await daemon.backend('audio', 'up');
const outputs = await daemon.read<Output[]>('/audio/outputs');
const living = outputs.find(({ name }) => name === 'living')?.id ?? 0;
const READERS = new URL('./support/stream-reader-process.js', import.meta.url);
const STORM = new URL('./support/storm-process.js', import.meta.url);
const readers = await Forked.start(READERS, String(daemon.port), String(STREAMS));
const storm = await Forked.start(STORM, sound.socketPath, String(living));

/** A figure per round, in milliseconds. */
const states = { rest: figures(), storm: figures() };
const rates: number[] = [];
const cores: number[] = [];
let events = 0;
let agreeing = STREAMS;
await getLatencies(daemon.port, 1000);
for (let round = 0; round < ROUNDS; round += 1) {
  note(states.rest, await getLatencies(daemon.port, ROUND_MS));
  const cpuBefore = cpuMs(daemon.pid);
  const eventsBefore = await readers.forked.order({ do: 'chunks' });
  const blown = storm.forked.order({ do: 'blow', with: CHANGES_PER_ROUND });
  note(states.storm, await getLatencies(daemon.port, ROUND_MS - 500));
  rates.push(await blown);
  cores.push((cpuMs(daemon.pid) - cpuBefore) / ROUND_MS);
  const agree = (): Promise<number> => readers.forked.order({ do: 'agree', with: LAST_HUNDREDTHS });
  await until('every stream tells the last state', async () => (await agree()) === STREAMS);
  agreeing = Math.min(agreeing, await agree());
  events += (await readers.forked.order({ do: 'chunks' })) - eventsBefore;
}
await Promise.all([readers.forked.end(), storm.forked.end()]);
await daemon.stop();
await sound.stop();

const row = (what: string, { gets, p50s, p99s }: Figures): object => ({
  what,
  GETs: gets,
  'p50, ms': rounded(median(p50s)),
  'p99, ms': rounded(median(p99s)),
  'p99 to rest (goal 2)': rounded(median(p99s) / median(states.rest.p99s)),
});
console.table([row('at rest', states.rest), row('under the storm', states.storm)]);
console.table([
  {
    'changes/s': rounded(median(rates), 0),
    'events/s at each stream': rounded(events / STREAMS / ROUNDS / (ROUND_MS / 1000), 0),
    "daemon's CPU, cores": rounded(median(cores)),
    'streams with the true last state': `${agreeing} of ${STREAMS}`,
  },
]);
