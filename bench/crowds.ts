// Compares how long others wait for an answer beside a crowd with how long they wait at rest. The crowds are
// silent connections that come back when they are closed, streams of which some never read, and a broker
// that floods. The others open a connection for each request, 10 ms after the answer to the one before.
// Silent connections and the broker have processes of their own, and the silent connections have addresses
// of their own, in a network that is made for them. The silent crowd is also measured with uWebSockets.js
// alone. That program gives the same answer, keeps as many connections as the daemon, and closes the oldest.
//   node build/bench/crowds.js [--quick] [--json]       (needs root, unshare and ip)

import { execFileSync } from 'node:child_process';
import { connect } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { Daemon } from '../test/contract/daemon.js';
import { consecutiveAddresses } from '../test/contract/silent-crowd.js';
import { startPulseAudio } from '../test/sound/servers.js';
import { cpuMs, median } from './support/figures.js';
import { Forked } from './support/fork.js';
import { type Context, measurement } from './support/measurement.js';
import { inOwnNetwork } from './support/own-network.js';
import type { Row } from './support/rows.js';
import { StreamReaders } from './support/stream-readers.js';

const ROUNDS = 4;
const ROUND_MS = 2500;
/** The time until a whole crowd is connected, or gone. */
const GATHERING_MS = 1000;
const ASK_EVERY_MS = 10;
const SILENT = 1000;
const STREAMS = 256;
const NEVER_READ = 50;
const TOPIC = 'bench/crowds';
const NODE = '10.9.0.1';
const FIRST = '10.9.0.2';
const HOSTS = 50;
/** `keptMax` is how many connections the node lets each crowd have (`gateway/connection-limits.ts`). */
const SILENT_CROWDS = [
  { from: 'one address', hosts: 1, keptMax: 128 },
  { from: `${HOSTS} addresses`, hosts: HOSTS, keptMax: 672 },
];
const GOAL = { atMost: 2 };

inOwnNetwork();
for (const address of [NODE, ...consecutiveAddresses(FIRST, HOSTS)])
  execFileSync('ip', ['addr', 'add', `${address}/24`, 'dev', 'lo']);

/** Milliseconds from the connecting to the end of the answer's first chunk. */
function answerTime(port: number): Promise<number> {
  const from = performance.now();
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true });
    socket.on('connect', () => socket.write('GET /audio HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n'));
    socket.on('error', reject);
    socket.once('data', () => {
      resolve(performance.now() - from);
      socket.destroy();
    });
    socket.once('end', () => reject(new Error('closed without an answer')));
  });
}

async function answerTimes(port: number, forMs: number): Promise<readonly number[]> {
  const end = performance.now() + forMs;
  const samples: number[] = [];
  while (performance.now() < end) {
    samples.push(await answerTime(port));
    await pause(ASK_EVERY_MS);
  }
  return samples;
}

/** The steps that begin a crowd and end it. */
interface Crowd {
  readonly begin: () => Promise<unknown>;
  readonly end: () => Promise<unknown>;
}

const PROCESS = new URL('./support/crowd-process.js', import.meta.url);
const CONSTANT = new URL('./support/http-constant.js', import.meta.url);
const sound = await startPulseAudio();
const broker = await Forked.start(PROCESS, 'broker', TOPIC);
const daemon = await Daemon.start({
  env: sound.env,
  config: `bind: [lo, ${NODE}]\nsystemd: {enabled: false}\nmqtt: {enabled: true, url: "mqtt://127.0.0.1:${broker.firstValue}", topic: ${TOPIC}}\n`,
});
await daemon.untilBackend('audio', 'up');
await daemon.untilBackend('mqtt', 'up');
const { port } = daemon;
const forked = [broker.forked];

async function start(module: URL, ...args: readonly (string | number)[]): ReturnType<typeof Forked.start> {
  const started = await Forked.start(module, ...args.map(String));
  forked.push(started.forked);
  return started;
}

/** Streams, of which some never read. They get events, because a volume changes again and again. */
class Streams implements Crowd {
  readonly #neverRead = new StreamReaders('', false);
  readonly #listening = new StreamReaders();
  #changes = Promise.resolve();
  #isOver = false;

  async begin(): Promise<void> {
    this.#isOver = false;
    await this.#neverRead.open(port, NEVER_READ);
    await this.#listening.open(port, STREAMS - NEVER_READ);
    this.#changes = this.#changeVolumes();
  }

  async end(): Promise<void> {
    this.#isOver = true;
    await this.#changes;
    for (const readers of [this.#neverRead, this.#listening]) readers.close();
  }

  async #changeVolumes(): Promise<void> {
    for (let changes = 0; !this.#isOver; changes += 1) {
      await daemon.post('/audio/outputs/living/volume', { volume: (changes % 50) / 100 });
      await pause(50);
    }
  }
}

function crowdOf(crowd: Forked): Crowd {
  return { begin: () => crowd.order({ do: 'begin' }), end: () => crowd.order({ do: 'end' }) };
}

/** A server that is measured, and the crowd that is connected to it. */
interface Side {
  readonly port: number;
  readonly pid: number;
  readonly crowd: Crowd;
}

interface Samples {
  readonly rest: number[];
  readonly beside: number[];
  /** CPU beside the crowd, in ms, without that of the answers. */
  readonly cpu: number[];
}

async function measureRound(side: Side, roundMs: number, samples: Samples): Promise<void> {
  const cpuAtFirst = cpuMs(side.pid);
  samples.rest.push(median(await answerTimes(side.port, roundMs)));
  const cpuBefore = cpuMs(side.pid);
  const answersCpu = cpuBefore - cpuAtFirst;
  await side.crowd.begin();
  await pause(GATHERING_MS);
  samples.beside.push(median(await answerTimes(side.port, roundMs)));
  samples.cpu.push(cpuMs(side.pid) - cpuBefore - answersCpu);
  await side.crowd.end();
  await pause(GATHERING_MS);
}

async function measureSides(sides: readonly Side[], { rounds, ms }: Context): Promise<readonly Samples[]> {
  const samples = sides.map((): Samples => ({ rest: [], beside: [], cpu: [] }));
  for (const { port } of sides) await answerTimes(port, ms(ROUND_MS));
  for (let round = rounds(ROUNDS); round > 0; round -= 1) {
    for (const [at, side] of sides.entries()) {
      const samplesOfSide = samples[at];
      if (samplesOfSide !== undefined) await measureRound(side, ms(ROUND_MS), samplesOfSide);
    }
  }
  return samples;
}

function answerRow(what: string, { rest, beside }: Samples): Row {
  return { what, unit: 'ms', samples: beside, against: { what: 'at rest', samples: rest } };
}

async function silentRows(what: string, hosts: number, keptMax: number, context: Context): Promise<Row[]> {
  const answer = await daemon.get('/audio');
  const bare = await start(CONSTANT, JSON.stringify({ headers: [], body: answer.text }), keptMax);
  const sides: Side[] = [];
  for (const server of [
    { port, pid: daemon.pid },
    { port: bare.firstValue, pid: bare.forked.pid },
  ]) {
    const crowd = await start(PROCESS, 'silent', NODE, server.port, FIRST, hosts, SILENT);
    sides.push({ ...server, crowd: crowdOf(crowd.forked) });
  }
  const [ofDaemon, ofBare] = await measureSides(sides, context);
  if (ofDaemon === undefined || ofBare === undefined) return [];
  return [
    { ...answerRow(`an answer beside ${what}, p50`, ofDaemon), goal: GOAL },
    answerRow(`uWS alone beside ${what}, p50`, ofBare),
    {
      what: `CPU beside ${what}`,
      unit: 'ms',
      samples: ofDaemon.cpu,
      against: { what: 'uWS alone', samples: ofBare.cpu },
    },
  ];
}

await measurement(async (context) => {
  const rows: Row[] = [];
  for (const { from, hosts, keptMax } of SILENT_CROWDS) {
    const what = `${SILENT} silent connections from ${from}`;
    if (context.selects(what)) rows.push(...(await silentRows(what, hosts, keptMax, context)));
  }
  const others = {
    [`${STREAMS} streams, of which ${NEVER_READ} never read`]: new Streams(),
    'a broker that floods': crowdOf(broker.forked),
  };
  for (const [what, crowd] of Object.entries(others)) {
    if (!context.selects(what)) continue;
    const [samples] = await measureSides([{ port, pid: daemon.pid, crowd }], context);
    if (samples !== undefined)
      rows.push({ ...answerRow(`an answer beside ${what}, p50`, samples), goal: GOAL });
  }
  return rows;
});
await Promise.all(forked.map((each) => each.end()));
await daemon.stop();
await sound.stop();
