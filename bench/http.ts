// Compares `GET /audio` of the whole daemon, on a real sound server, with uWebSockets.js that sends a
// constant. The constant has the same body and the same headers, or the same body alone. A third
// uWebSockets.js sends body and headers after it has read the headers of the request that decide about an
// answer. wrk sends requests on 50 connections to each in turn.
//   node build/bench/http.js [--quick] [--json]       (needs wrk)

import { execFile, spawnSync } from 'node:child_process';
import { promisify } from 'node:util';
import { Daemon } from '../test/contract/daemon.js';
import { startPulseAudio } from '../test/sound/servers.js';
import { until } from '../test/until.js';
import { Forked } from './support/fork.js';
import { measurement } from './support/measurement.js';

const ROUNDS = 5;
const ROUND_MS = 3000;
const STREAMS = 20;
/**
 * Headers that a server must read for docs/http-api.md, "Host and Origin", for bodies and for conditional
 * requests.
 */
const HEADERS_TO_READ = [
  'host',
  'origin',
  'sec-fetch-site',
  'transfer-encoding',
  'content-length',
  'if-none-match',
];
/** uWebSockets.js adds these itself. */
const ADDED_HEADERS = ['date', 'uwebsockets', 'content-length', 'connection', 'keep-alive'];

const run = promisify(execFile);

async function requestsPerSecond(port: number, seconds: number): Promise<number> {
  const url = `http://127.0.0.1:${port}/audio`;
  const { stdout } = await run('wrk', ['-t1', '-c50', `-d${seconds}s`, url]);
  if (/Non-2xx|Socket errors/.test(stdout)) throw new Error(stdout);
  return Number(/Requests\/sec:\s+([\d.]+)/.exec(stdout)?.[1]);
}

function startConstant(
  headers: readonly (readonly [string, string])[],
  body: string,
  reads?: readonly string[],
): ReturnType<typeof Forked.start> {
  const module = new URL('./support/http-constant.js', import.meta.url);
  return Forked.start(module, JSON.stringify({ headers, body, reads }));
}

await measurement(async ({ rounds, ms, note }) => {
  if (spawnSync('wrk', ['--version']).error !== undefined) {
    note('requests in a second (no wrk here)');
    return [];
  }
  const seconds = Math.ceil(ms(ROUND_MS) / 1000);
  const sound = await startPulseAudio();
  const daemon = await Daemon.start({ env: sound.env, config: 'systemd: {enabled: false}\n' });
  await daemon.untilBackend('audio', 'up');
  const client = await sound.streams('player');
  await client.open(Array.from({ length: STREAMS }, () => ({ sink: 'living' })));
  await until(
    'the streams are listed',
    async () => (await daemon.read<object[]>('/audio/clients')).length === STREAMS,
  );
  const answer = await daemon.get('/audio');
  const headers = Object.entries(answer.headers)
    .filter(([name]) => !ADDED_HEADERS.includes(name))
    .map(([name, value]) => [name, String(value)] as const);
  const same = await startConstant(headers, answer.text);
  const bare = await startConstant([], answer.text);
  const reading = await startConstant(headers, answer.text, HEADERS_TO_READ);
  const samples = {
    ours: [] as number[],
    same: [] as number[],
    bare: [] as number[],
    reading: [] as number[],
  };
  for (let round = rounds(ROUNDS); round > 0; round -= 1) {
    samples.ours.push(await requestsPerSecond(daemon.port, seconds));
    samples.same.push(await requestsPerSecond(same.firstValue, seconds));
    samples.bare.push(await requestsPerSecond(bare.firstValue, seconds));
    samples.reading.push(await requestsPerSecond(reading.firstValue, seconds));
  }
  await Promise.all([same.forked.end(), bare.forked.end(), reading.forked.end(), client.close()]);
  await daemon.stop();
  await sound.stop();
  const row = {
    what: `GET /audio, ${STREAMS} streams (${Buffer.byteLength(answer.text)} bytes)`,
    unit: '/s',
    samples: samples.ours,
  };
  return [
    {
      ...row,
      against: { what: 'uWS, same headers and body', samples: samples.same },
      goal: { atLeast: 0.95 },
    },
    { ...row, against: { what: 'uWS, same body', samples: samples.bare } },
    {
      ...row,
      against: { what: 'uWS, same headers and body, the request read', samples: samples.reading },
    },
  ];
});
