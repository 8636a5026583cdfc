// How long others wait for an answer beside a crowd, to how long they wait at rest: silent connections that come back as they are
// closed, streams of which some never read, a broker that floods. Everybody asks on a connection of their own, one after another, at a
// steady rate; each crowd has a process of its own, and silence comes from addresses of its own, in a network that is made for it.
//   node build/bench/crowds.js [--quick] [--json]       (needs root, unshare and ip)

import { execFileSync, spawnSync } from 'node:child_process';
import { connect } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Daemon } from '../test/contract/daemon.js';
import { addresses } from '../test/contract/silent-crowd.js';
import { openCrowd } from '../test/contract/stream-crowd.js';
import { startPulseAudio } from '../test/sound/servers.js';
import { median } from './support/figures.js';
import { Forked } from './support/fork.js';
import { measurement } from './support/measurement.js';
import type { Row } from './support/rows.js';

const ROUNDS = 4;
const ROUND_MS = 2500;
/** Until a crowd is all there. */
const GATHERING_MS = 1000;
const ASK_EVERY_MS = 10;
const SILENT = 1000;
const STREAMS = 256;
const NEVER_READ = 50;
const TOPIC = 'bench/crowds';
const NODE = '10.9.0.1';
const FIRST = '10.9.0.2';
const HOSTS = 50;

if (process.env['TONEARM_BENCH_NETWORK'] !== '1') {
  const script = fileURLToPath(import.meta.url);
  const again = [process.execPath, ...process.execArgv, script, ...process.argv.slice(2)];
  const env = { ...process.env, TONEARM_BENCH_NETWORK: '1' };
  process.exit(spawnSync('unshare', ['--net', ...again], { stdio: 'inherit', env }).status ?? 1);
}
execFileSync('ip', ['link', 'set', 'lo', 'up']);
for (const address of [NODE, ...addresses(FIRST, HOSTS)])
  execFileSync('ip', ['addr', 'add', `${address}/24`, 'dev', 'lo']);

/** From dialling to the end of the answer's first chunk, in ms. */
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
  const taken: number[] = [];
  while (performance.now() < end) {
    taken.push(await answerTime(port));
    await pause(ASK_EVERY_MS);
  }
  return taken;
}

interface Crowd {
  readonly what: string;
  /** Its process; `begin` and `end` are its orders. */
  readonly begin: () => Promise<unknown>;
  readonly end: () => Promise<unknown>;
}

const PROCESS = new URL('./support/crowd-process.js', import.meta.url);
const sound = await startPulseAudio();
const broker = await Forked.start(PROCESS, 'broker', TOPIC);
const daemon = await Daemon.start({
  env: sound.env,
  config: `bind: [lo, ${NODE}]\nsystemd: {enabled: false}\nmqtt: {enabled: true, url: "mqtt://127.0.0.1:${broker.said}", topic: ${TOPIC}}\n`,
});
await daemon.backend('audio', 'up');
await daemon.backend('mqtt', 'up');
const { port } = daemon;
const forked = [broker.forked];

async function silent(hosts: number): Promise<Crowd> {
  const { forked: crowd } = await Forked.start(
    PROCESS,
    'silent',
    ...[NODE, port, FIRST, hosts, SILENT].map(String),
  );
  forked.push(crowd);
  return {
    what: `${SILENT} silent connections from ${hosts === 1 ? 'one address' : `${hosts} addresses`}`,
    begin: () => crowd.order({ do: 'begin' }),
    end: () => crowd.order({ do: 'end' }),
  };
}

/** Volume changes are what the streams are sent meanwhile. */
async function streams(): Promise<Crowd> {
  let members: Awaited<ReturnType<typeof openCrowd>> = [];
  let changes = Promise.resolve();
  let isOver = false;
  const change = async (): Promise<void> => {
    for (let i = 0; !isOver; i += 1) {
      await daemon.post('/audio/outputs/living/volume', { volume: (i % 50) / 100 });
      await pause(50);
    }
  };
  return {
    what: `${STREAMS} streams, of which ${NEVER_READ} never read`,
    begin: async () => {
      isOver = false;
      members = [
        ...(await openCrowd(port, NEVER_READ, '', { reads: false })),
        ...(await openCrowd(port, STREAMS - NEVER_READ, '')),
      ];
      changes = change();
    },
    end: async () => {
      isOver = true;
      await changes;
      for (const member of members) member.close();
    },
  };
}

const flood: Crowd = {
  what: 'a broker that floods',
  begin: () => broker.forked.order({ do: 'begin' }),
  end: () => broker.forked.order({ do: 'end' }),
};

await measurement(async ({ rounds, ms, wants }) => {
  const roundMs = ms(ROUND_MS);
  await answerTimes(port, roundMs);
  const rows: Row[] = [];
  for (const crowd of [await silent(1), await silent(HOSTS), await streams(), flood]) {
    if (!wants(crowd.what)) continue;
    const [rest, beside]: [number[], number[]] = [[], []];
    for (let round = rounds(ROUNDS); round > 0; round -= 1) {
      rest.push(median(await answerTimes(port, roundMs)));
      await crowd.begin();
      await pause(GATHERING_MS);
      beside.push(median(await answerTimes(port, roundMs)));
      await crowd.end();
      await pause(GATHERING_MS);
    }
    rows.push({
      what: `an answer beside ${crowd.what}, p50`,
      unit: 'ms',
      taken: beside,
      against: { what: 'at rest', taken: rest },
      goal: { atMost: 2 },
    });
  }
  return rows;
});
await Promise.all(forked.map((each) => each.end()));
await daemon.stop();
await sound.stop();
