// From spawn to the first 200 on `/audio`, with a real sound server, against a Node that does nothing, from spawn to exit: the time, and
// the CPU, which other programs disturb less. In turns. All four backends are enabled; those that need a bus find none here, and nobody
// waits for them. Also what any flag of V8 would cost: Node refuses its own code cache then.
//   node build/bench/start.js [--quick] [--json]

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { ENTRY } from '../test/contract/daemon.js';
import { startPulseAudio } from '../test/sound/servers.js';
import { freePort } from '../test/tools/free-port.js';
import { cpuMs } from './support/figures.js';
import { LAUNCHES, type Launch } from './support/launch-flags.js';
import { measurement } from './support/measurement.js';
import type { Row } from './support/rows.js';

const ROUNDS = 15;
const STARTS: readonly { readonly launch: Launch; readonly atMost?: number }[] = [
  { launch: LAUNCHES[0], atMost: 3 },
  { launch: LAUNCHES[1], atMost: 4 },
  { launch: { what: 'with a flag of V8', flags: ['--max-semi-space-size=1'], env: {} } },
];
/** Says its own CPU time in microseconds, and ends. */
const NOTHING = 'const { user, system } = process.cpuUsage(); process.stdout.write(String(user + system))';
const POLL_MS = 2;
const DEADLINE_MS = 10_000;

const sound = await startPulseAudio();
const directory = mkdtempSync(join(tmpdir(), 'tonearm-start-'));
const port = await freePort();
const config = join(directory, 'config.yaml');
writeFileSync(
  config,
  `api: {port: ${port}}\nlogLevel: error\npower: {enabled: true}\nupgrade: {enabled: true, resultFile: ${directory}/result.json}\n`,
);

/** Whether `GET /audio` is answered with 200 now. */
function answers(): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.on('error', () => resolve(false));
    socket.on('data', (head) => {
      resolve(head.toString('latin1').startsWith('HTTP/1.1 200 '));
      socket.destroy();
    });
    socket.write('GET /audio HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n');
  });
}

interface Took {
  readonly ms: number;
  readonly cpuMs: number;
}

async function timeOurs({ flags, env }: Launch): Promise<Took> {
  const begun = performance.now();
  const child = spawn(process.execPath, [...flags, ENTRY, '--allow-root', '--config', config], {
    env: { ...sound.env, ...env },
    stdio: 'ignore',
  });
  while (!(await answers())) {
    if (performance.now() - begun > DEADLINE_MS) throw new Error('no answer');
    await pause(POLL_MS);
  }
  const taken = { ms: performance.now() - begun, cpuMs: cpuMs(child.pid ?? 0) };
  const exit = once(child, 'exit');
  child.kill('SIGKILL');
  await exit;
  return taken;
}

async function timeNothing(): Promise<Took> {
  const begun = performance.now();
  const child = spawn(process.execPath, ['-e', NOTHING], { stdio: ['ignore', 'pipe', 'ignore'] });
  let said = '';
  child.stdout.setEncoding('utf8').on('data', (part: string) => {
    said += part;
  });
  await once(child, 'close');
  return { ms: performance.now() - begun, cpuMs: Number(said) / 1000 };
}

await measurement(async ({ rounds }) => {
  const taken = STARTS.map((start) => ({ start, ours: [] as Took[], nothing: [] as Took[] }));
  for (let round = rounds(ROUNDS); round > 0; round -= 1) {
    for (const { start, ours, nothing } of taken) {
      ours.push(await timeOurs(start.launch));
      nothing.push(await timeNothing());
    }
  }
  await sound.stop();
  rmSync(directory, { recursive: true, force: true });
  return taken.flatMap(({ start: { launch, atMost }, ours, nothing }): Row[] => {
    const row = (what: string, of: keyof Took): Row => ({
      what: `${what}, ${launch.what}`,
      unit: 'ms',
      taken: ours.map((took) => took[of]),
      against: { what: 'a Node that does nothing', taken: nothing.map((took) => took[of]) },
    });
    const time = row('spawn to the first 200 on /audio', 'ms');
    return [atMost === undefined ? time : { ...time, goal: { atMost } }, row('CPU until then', 'cpuMs')];
  });
});
