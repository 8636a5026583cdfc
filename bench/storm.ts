// Measures GETs of the daemon at rest and under an audio storm: 1000 volume changes a second by a real
// client, and 100 open streams. A GET is due every 5 ms, however long the answers take. Storm, streams and
// GETs have a process each. uWebSockets.js with a constant answer runs beside the daemon. It does not listen
// to the storm, so its delay is what the storm costs the machine.
//   node build/bench/storm.js [--quick] [--json]

import { once } from 'node:events';
import { connect } from 'node:net';
import { systemClock } from '../src/host/clock.js';
import { Daemon } from '../test/contract/daemon.js';
import { startPulseAudio } from '../test/sound/servers.js';
import { until } from '../test/until.js';
import { cpuMs, quantile } from './support/figures.js';
import { Forked } from './support/fork.js';
import { measurement } from './support/measurement.js';
import { latenciesOf } from './support/steady-requests.js';

const STREAMS = 100;
const ROUNDS = 6;
const ROUND_MS = 4000;
const WATCHED_PART = 0.9;
const WARM_UP_MS = 1000;
const GET_EVERY_MS = 5;
/** The volume that the storm sets last (support/storm-process.ts). */
const LAST_HUNDREDTHS = 77;

/** Milliseconds from when each request was due to the end of its answer's first chunk. */
async function getLatencies(port: number, durationMs: number): Promise<readonly number[]> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true });
  const ask = async (): Promise<void> => {
    socket.write('GET /audio HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n');
    await once(socket, 'data');
  };
  const latencies = await latenciesOf(ask, GET_EVERY_MS, durationMs, systemClock);
  socket.destroy();
  return latencies;
}

/** A figure per round, in milliseconds. */
interface Figures {
  readonly p50: number[];
  readonly p99: number[];
}

function noFigures(): Figures {
  return { p50: [], p99: [] };
}

function addTo(figures: Figures, latencies: readonly number[]): void {
  figures.p50.push(quantile(latencies, 0.5));
  figures.p99.push(quantile(latencies, 0.99));
}

interface Output {
  readonly id: number;
  readonly name: string;
}

const READERS = new URL('./support/stream-reader-process.js', import.meta.url);
const CONSTANT = new URL('./support/http-constant.js', import.meta.url);
const STORM = new URL('./support/storm-process.js', import.meta.url);

await measurement(async ({ rounds, ms }) => {
  const sound = await startPulseAudio();
  const daemon = await Daemon.start({ env: sound.env, config: 'systemd: {enabled: false}\n' });
  await daemon.untilBackend('audio', 'up');
  const outputs = await daemon.read<Output[]>('/audio/outputs');
  const livingId = outputs.find(({ name }) => name === 'living')?.id ?? 0;
  const readers = await Forked.start(READERS, String(daemon.port), String(STREAMS));
  const storm = await Forked.start(STORM, sound.socketPath, String(livingId));
  const { text: body } = await daemon.get('/audio');
  const constant = await Forked.start(CONSTANT, JSON.stringify({ headers: [], body }));
  const ours = { rest: noFigures(), inStorm: noFigures() };
  const bare = { rest: noFigures(), inStorm: noFigures() };
  const rates = [] as number[];
  const cores = [] as number[];
  const events = [] as number[];
  const roundMs = ms(ROUND_MS);
  /** Measures both at the same time, because one request in `GET_EVERY_MS` does not disturb the other. */
  const measureGets = async (when: 'rest' | 'inStorm', durationMs: number): Promise<void> => {
    const ports = [daemon.port, constant.firstValue];
    const [ofDaemon = [], ofConstant = []] = await Promise.all(
      ports.map((port) => getLatencies(port, durationMs)),
    );
    addTo(ours[when], ofDaemon);
    addTo(bare[when], ofConstant);
  };
  await getLatencies(daemon.port, ms(WARM_UP_MS));
  for (let round = rounds(ROUNDS); round > 0; round -= 1) {
    await measureGets('rest', roundMs);
    const before = { cpu: cpuMs(daemon.pid), events: await readers.forked.order({ do: 'chunks' }) };
    // The storm makes one change a millisecond, and lasts a little longer than the GETs.
    const changeCount = roundMs;
    const storming = storm.forked.order({ do: 'blow', with: changeCount });
    await measureGets('inStorm', roundMs * WATCHED_PART);
    rates.push(await storming);
    cores.push((cpuMs(daemon.pid) - before.cpu) / roundMs);
    const countAgreeing = (): Promise<number> => readers.forked.order({ do: 'agree', with: LAST_HUNDREDTHS });
    await until('every stream has the last state', async () => (await countAgreeing()) === STREAMS);
    const delivered = (await readers.forked.order({ do: 'chunks' })) - before.events;
    events.push((delivered * 1000) / STREAMS / roundMs);
  }
  await Promise.all([readers, storm, constant].map(({ forked }) => forked.end()));
  await daemon.stop();
  await sound.stop();
  const row = (whose: string, { rest, inStorm }: typeof ours, what: keyof Figures) => ({
    what: `${whose} while volumes change, ${what}`,
    unit: 'ms',
    samples: inStorm[what],
    against: { what: 'itself at rest', samples: rest[what] },
  });
  return [
    row('GET /audio', ours, 'p50'),
    { ...row('GET /audio', ours, 'p99'), goal: { atMost: 3 } },
    row('GET of a constant of uWS', bare, 'p50'),
    row('GET of a constant of uWS', bare, 'p99'),
    { what: 'volumes changed', unit: '/s', samples: rates },
    { what: `events sent to each of ${STREAMS} streams, the last state to all`, unit: '/s', samples: events },
    { what: 'CPU meanwhile', unit: 'cores', samples: cores },
  ];
});
