// The command `tonearm bench` measures what this machine and its sound server can carry. For this purpose it
// runs a service of its own (a supervisor with a gateway). It does not touch the service of a running daemon.

import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import type { Gateway } from '../../gateway/gateway.js';
import { systemClock, within } from '../../host/clock.js';
import type { Settings } from '../../protocol/actor/settings.js';
import type { Supervisor } from '../../supervisor/supervisor.js';
import { readOptions, type WrongUsage, wrongUsage } from '../arguments.js';
import type { ProbeTask } from './probe.js';
import { type Figures, LISTENERS_ADDED, type Measured, makeReport, reportTable } from './report.js';

const BENCH_HELP = `Usage: tonearm bench [--seconds N] [--json]

Measures what this machine and its sound server can carry, and prints a table.

  --seconds N  how long to measure, 2 to 60; 10 by default
  --json       print one JSON object instead

It opens one silent stream on an output of the sound server and renames it
again and again. No volume is changed, and the stream is removed at the end.
Without a sound server, the other figures are measured, and the output names
what is missing. A running tonearm is not changed, but its clients see the
stream while it exists.

Exit status: 0 success, 64 wrong usage
`;

const SECONDS = { least: 2, most: 60, usual: 10 };
/** The measurement at rest takes this time for each second of `--seconds`. */
const REST_MS_PER_SECOND = 300;
/** The longest wait until the audio backend is `up`, or has reported why it is not. */
const UP_WITHIN_MS = 5_000;
/**
 * The probe may take this much longer than requested. Everything that it waits for has a shorter deadline.
 */
const PROBE_SLACK_MS = 20_000;
const CLOSE_WITHIN_MS = 1_000;

export type BenchRequest =
  | { readonly do: 'measure'; readonly seconds: number; readonly json: boolean; readonly notice: string }
  | { readonly do: 'help'; readonly text: string }
  | WrongUsage;

const OPTIONS = {
  seconds: { type: 'string', default: String(SECONDS.usual) },
  json: { type: 'boolean', default: false },
  help: { type: 'boolean' },
} as const;

/** `args` are the arguments after the word `bench`. Pure. */
export function parseBench(args: readonly string[]): BenchRequest {
  const wrong = (reason: string): WrongUsage => wrongUsage('tonearm bench', reason);
  const options = readOptions(args, OPTIONS);
  if (!options.ok) return wrong(options.error);
  const { values } = options.value;
  if (values.help) return { do: 'help', text: BENCH_HELP };
  const seconds = Number(values.seconds);
  const isInteger = /^\d+$/.test(values.seconds);
  const isInRange = seconds >= SECONDS.least && seconds <= SECONDS.most;
  if (!isInteger || !isInRange)
    return wrong(`--seconds needs an integer from ${SECONDS.least} to ${SECONDS.most}`);
  const notice =
    `tonearm bench: for about ${seconds} s, the sound server has one more stream, which is silent and is renamed often. ` +
    'It is removed when this program ends. No volume is changed.\n';
  return { do: 'measure', seconds, json: values.json, notice };
}

/** The bench gets these from main.ts. */
export interface BenchParts {
  /** The default settings. */
  readonly settings: Settings;
  /** The folder of the built files. */
  readonly root: URL;
  /** Makes a service, which is not started yet. */
  assemble(settings: Settings): { readonly supervisor: Supervisor; readonly gateway: Gateway };
}

/**
 * Measures, and resolves to the text to print. This text also names what could not be measured. Rejects if
 * the service cannot listen.
 */
export async function runBench(
  { seconds, json }: { readonly seconds: number; readonly json: boolean },
  parts: BenchParts,
): Promise<string> {
  const { settings } = parts;
  // The figures at rest are for a service with only the audio backend (docs/measuring.md, "The bench"). So
  // the systemd backend is off, although it is on by default.
  const systemd = { ...settings.systemd, enabled: false };
  // With the default settings, this service would remove the groups and loopbacks of a running daemon.
  const audio = { ...settings.audio, actsByItself: false };
  const { supervisor, gateway } = parts.assemble({ ...settings, systemd, audio });
  try {
    const { port, refused } = gateway.listen(['127.0.0.1'], 0);
    if (refused.length > 0) throw new Error('cannot listen on 127.0.0.1');
    supervisor.start(gateway.listener);
    await gateway.waitForFirstHealth('audio', UP_WITHIN_MS);
    const figuresAtRest = await measureAtRest(seconds * REST_MS_PER_SECOND);
    const measured = await runProbe(parts.root, { port, seconds, listeners: LISTENERS_ADDED });
    const report = makeReport({ ...measured, figures: { ...figuresAtRest, ...measured.figures } }, seconds);
    return json ? `${JSON.stringify(report)}\n` : reportTable(report);
  } finally {
    await gateway.close(CLOSE_WITHIN_MS);
    await supervisor.stop();
  }
}

/** Measures the service while no listener is connected. */
async function measureAtRest(ms: number): Promise<Figures> {
  const cpuBefore = process.cpuUsage();
  const wakeUpsBefore = countWakeUps();
  await new Promise<void>((resolve) => {
    systemClock.after(ms, resolve);
  });
  const { user, system } = process.cpuUsage(cpuBefore);
  return {
    memory_mb: process.memoryUsage.rss() / 2 ** 20,
    wake_ups_per_second: ((countWakeUps() - wakeUpsBefore) * 1000) / ms,
    // Microseconds per millisecond are milliseconds per second. A minute has 60 seconds.
    cpu_ms_per_minute: ((user + system) * 60) / ms,
  };
}

/** The number of voluntary context switches of all threads, which is the number of wake-ups. */
function countWakeUps(): number {
  const folder = '/proc/self/task';
  let sum = 0;
  for (const thread of readdirSync(folder)) {
    const status = readStatus(`${folder}/${thread}/status`);
    // The line looks like `voluntary_ctxt_switches: 12`.
    sum += Number(/^voluntary_ctxt_switches:\s+(\d+)/m.exec(status)?.[1] ?? 0);
  }
  return sum;
}

/** Returns '' for a thread that has ended since the folder was listed. */
function readStatus(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

async function runProbe(root: URL, task: ProbeTask): Promise<Measured> {
  const worker = new Worker(fileURLToPath(new URL('cli/bench/probe.js', root)), { workerData: task });
  const received = new Promise<Measured>((resolve, reject) => {
    worker.once('message', resolve);
    worker.once('error', reject);
  });
  try {
    const measured = await within(systemClock, task.seconds * 1000 + PROBE_SLACK_MS, received);
    return measured ?? { figures: {}, missing: 'the measurement did not end in time' };
  } finally {
    await worker.terminate();
  }
}
