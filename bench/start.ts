// Measures the time and the CPU from spawn to the first 200 on `/audio`, with a real sound server. They are
// compared with those of a Node that does nothing, from spawn to exit, in turns. Other programs disturb the
// CPU less than the time. As packaged, each start except the first after an installation has the code that
// V8 compiled before. A start with a flag of V8 is measured, too, because Node then refuses its own code
// cache. The least program of its kind is measured as well: it waits for a thread, as the daemon waits for
// the thread of the sound server.
//   node build/bench/start.js [--quick] [--json]

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { startPulseAudio } from '../test/sound/servers.js';
import { until } from '../test/until.js';
import { firstAnswer, prepareStart, type Started } from './support/first-answer.js';
import { LAUNCHES, type Launch } from './support/launch-flags.js';
import { measurement } from './support/measurement.js';
import type { Row } from './support/rows.js';

const ROUNDS = 15;
/** A program that prints its own CPU time in microseconds, and ends. */
const PRINT_OWN_CPU =
  'const { user, system } = process.cpuUsage(); process.stdout.write(String(user + system))';
const POLL_MS = 2;
/** The files with the compiled code of all that runs until the first answer. */
const CODE_FILES = ['main.code', 'supervisor-config-yaml.code', 'actors-audio-backend.code'];
const KEPT_DEADLINE_MS = 60_000;

const sound = await startPulseAudio();
const program = await prepareStart();

interface Start {
  /** The program's name, when it is not the daemon. */
  readonly whose?: string;
  readonly launch: Launch;
  readonly args: readonly string[];
  readonly atMost?: number;
  readonly cpuAtMost?: number;
}

const [plain, packaged] = LAUNCHES;
const warmed = { ...packaged, env: { ...packaged.env, TONEARM_CODE_CACHE: program.codeCache } };
const STARTS: readonly Start[] = [
  { launch: plain, args: program.daemonArguments, atMost: 3 },
  { launch: { ...packaged, what: 'as packaged, the first time' }, args: program.daemonArguments },
  { launch: warmed, args: program.daemonArguments, atMost: 3.2, cpuAtMost: 5 },
  {
    launch: { what: 'with a flag of V8', flags: ['--max-semi-space-size=1'], env: {} },
    args: program.daemonArguments,
  },
  { whose: 'uWS and one bare thread: ', launch: plain, args: program.bareArguments(1) },
];

type Timing = Pick<Started, 'ms' | 'cpuMs'>;

async function timeStart({ launch: { flags, env }, args }: Start): Promise<Timing> {
  const command = [process.execPath, ...flags, ...args];
  const started = await firstAnswer(command, { ...sound.env, ...env }, program.port, POLL_MS);
  await started.end();
  return started;
}

/** Starts the daemon once, until its compiled code is kept. */
async function warmUp(): Promise<void> {
  const command = [process.execPath, ...warmed.flags, ...program.daemonArguments];
  const started = await firstAnswer(command, { ...sound.env, ...warmed.env }, program.port, POLL_MS);
  const isKept = (): boolean => CODE_FILES.every((file) => existsSync(join(program.codeCache, file)));
  await until('the code is kept', isKept, KEPT_DEADLINE_MS);
  await started.end();
}

async function timeNothing(): Promise<Timing> {
  const begun = performance.now();
  const child = spawn(process.execPath, ['-e', PRINT_OWN_CPU], { stdio: ['ignore', 'pipe', 'ignore'] });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (part: string) => {
    output += part;
  });
  await once(child, 'close');
  return { ms: performance.now() - begun, cpuMs: Number(output) / 1000 };
}

await measurement(async ({ rounds }) => {
  await warmUp();
  const samples = STARTS.map((start) => ({ start, ours: [] as Timing[], nothing: [] as Timing[] }));
  for (let round = rounds(ROUNDS); round > 0; round -= 1) {
    for (const { start, ours, nothing } of samples) {
      ours.push(await timeStart(start));
      nothing.push(await timeNothing());
    }
  }
  await sound.stop();
  program.remove();
  return samples.flatMap(({ start: { whose = '', launch, atMost, cpuAtMost }, ours, nothing }): Row[] => {
    const row = (what: string, figure: keyof Timing, most?: number): Row => ({
      what: `${whose}${what}, ${launch.what}`,
      unit: 'ms',
      samples: ours.map((timing) => timing[figure]),
      against: { what: 'a Node that does nothing', samples: nothing.map((timing) => timing[figure]) },
      ...(most !== undefined && { goal: { atMost: most } }),
    });
    return [row('spawn to the first 200 on /audio', 'ms', atMost), row('CPU until then', 'cpuMs', cpuAtMost)];
  });
});
