// From spawn to the first 200 on `/audio`, with a real sound server, against `node -e 0` from spawn to exit. In turns. All
// four backends are enabled; those that need a bus find none here, and nobody waits for them.
//   node build/bench/start.js [--quick] [--json]

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { ENTRY, freePort } from '../test/contract/daemon.js';
import { startPulseAudio } from '../test/sound/servers.js';
import { LAUNCHES, type Launch } from './support/launch-flags.js';
import { measurement } from './support/measurement.js';

const ROUNDS = 15;
const GOALS = [3, 4];
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

async function timeOurs({ flags, env }: Launch): Promise<number> {
  const begun = performance.now();
  const child = spawn(process.execPath, [...flags, ENTRY, '--allow-root', '--config', config], {
    env: { ...sound.env, ...env },
    stdio: 'ignore',
  });
  while (!(await answers())) {
    if (performance.now() - begun > DEADLINE_MS) throw new Error('no answer');
    await pause(POLL_MS);
  }
  const taken = performance.now() - begun;
  const exit = once(child, 'exit');
  child.kill('SIGKILL');
  await exit;
  return taken;
}

async function timeNothing({ flags, env }: Launch): Promise<number> {
  const begun = performance.now();
  const child = spawn(process.execPath, [...flags, '-e', '0'], {
    env: { ...sound.env, ...env },
    stdio: 'ignore',
  });
  await once(child, 'exit');
  return performance.now() - begun;
}

await measurement(async ({ rounds }) => {
  const taken = LAUNCHES.map((launch) => ({ launch, ours: [] as number[], nothing: [] as number[] }));
  for (let round = rounds(ROUNDS); round > 0; round -= 1) {
    for (const { launch, ours, nothing } of taken) {
      ours.push(await timeOurs(launch));
      nothing.push(await timeNothing(launch));
    }
  }
  await sound.stop();
  rmSync(directory, { recursive: true, force: true });
  return taken.map(({ launch, ours, nothing }, at) => ({
    what: `spawn to the first 200 on /audio, ${launch.what}`,
    unit: 'ms',
    taken: ours,
    against: { what: 'node -e 0', taken: nothing },
    goal: { atMost: GOALS[at] ?? Number.NaN },
  }));
});
