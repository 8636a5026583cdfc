// Measures the daemon at rest, 60 s after its start, on a booted node. It has four backends, which are
// connected to a real sound server, real buses, systemd and logind. Two variants have the players' backend
// or the MQTT bridge as well, which shows what each costs. A third has audio and units alone, which shows
// that what is not enabled costs nothing. Memory is compared with that of Node with four bare threads, and
// wake-ups and CPU with those of uWebSockets.js alone.
//   node build/bench/rest.js [--quick] [--json]       (needs root and systemd-container)

import { type ChildProcess, spawn } from 'node:child_process';
import { request } from 'node:http';
import { dirname } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { ENTRY, type Health } from '../test/contract/daemon.js';
import { bootNode, type Node, whyNoNode } from '../test/node/node.js';
import { childrenOf } from '../test/node/process-tree.js';
import { until } from '../test/until.js';
import { cpuMs, memoryMb, wakeUps } from './support/figures.js';
import { Forked } from './support/fork.js';
import { LAUNCHES, type Launch } from './support/launch-flags.js';
import { type Context, measurement } from './support/measurement.js';
import type { Row } from './support/rows.js';

const REST_MS = 60_000;
/** Each window is a whole minute, so that it contains what is done once a minute. */
const WINDOWS = 2;
const WINDOW_MS = 60_000;
const UP_DEADLINE_MS = 30_000;
const FIRST_PORT = 8018;
/** One for each of the four backends: audio, systemd, power and upgrade. */
const THREADS = 4;
/**
 * Each variant has the four backends, and enables one more section of the configuration. The variant's name
 * is the name of this section, and its function gives the section's other settings. The variant `''` has the
 * four backends alone. Each daemon has its own branch of topics.
 */
const VARIANT_SETTINGS: Readonly<Record<string, (port: number) => string>> = {
  '': () => '',
  players: () => '',
  mqtt: (port) => `url: "mqtt://127.0.0.1", topic: bench/${port}`,
};
const FOUR = 'tonearm, 4 backends';
const BARE_NODE = 'bare Node, 4 threads';
/** The variant that has two backends less, and nothing more. */
const WITH_TWO_BACKENDS = 'audio and units alone';
const MS_PER_MINUTE = 60_000;

interface Resting {
  readonly what: string;
  readonly node: string;
  readonly pid: number;
}

const BARE = new URL('./support/bare-threads.js', import.meta.url);
const UWS = new URL('./support/http-constant.js', import.meta.url);

function health(port: number): Promise<Health> {
  return new Promise((resolve, reject) => {
    const headers = { Host: 'localhost' };
    request({ host: '127.0.0.1', port, path: '/health', headers, agent: false }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (part: string) => {
        text += part;
      });
      response.on('end', () => resolve(JSON.parse(text) as Health));
    })
      .on('error', reject)
      .end();
  });
}

/** The number of backends that a variant's daemon lists at /health, which also lists the MQTT bridge. */
function backendCount(variant: string): number {
  if (variant === WITH_TWO_BACKENDS) return THREADS - 2;
  return variant === '' ? THREADS : THREADS + 1;
}

/** Starts the daemon inside the node, and waits until its backends are connected. */
async function startDaemon(
  node: Node,
  { what, flags, env }: Launch,
  variant: string,
  port: number,
): Promise<Resting> {
  const config = `/opt/tonearm-bench/${port}.yaml`;
  const home = '/home/pi/.local/state';
  const commonLines = [
    `api: {port: ${port}}`,
    'systemd: {system: [dbus.service], user: [pulseaudio.service]}',
  ];
  const otherLines = [
    'power: {enabled: true, capabilities: {poweroff: true, reboot: true}}',
    variant === '' ? '' : `${variant}: {enabled: true, ${VARIANT_SETTINGS[variant]?.(port)}}`,
    `upgrade: {enabled: true, resultFile: ${home}/${port}.json, stateFile: ${home}/${port}-run.json, progressSocket: /run/user/${node.uid}/tonearm-${port}/upgrade.sock}`,
  ];
  await node.writeFile(
    config,
    [...commonLines, ...(variant === WITH_TWO_BACKENDS ? [] : otherLines), ''].join('\n'),
  );
  const variables = Object.entries(env).map(([name, value]) => `${name}=${value}`);
  const command = [process.execPath, ...flags, '/opt/tonearm/main.js', '--config', config];
  const entered = node.spawnUser('env', ...variables, ...command);
  let log = '';
  for (const stream of [entered.stdout, entered.stderr]) {
    stream.on('data', (part: Buffer) => {
      log += part.toString('utf8');
    });
  }
  await until(
    'all backends are up',
    async () => {
      const states = await health(await node.door(port)).then(
        ({ backends }) => Object.values(backends).map(({ state }) => state),
        () => [],
      );
      return states.length === backendCount(variant) && states.every((state) => state === 'up');
    },
    UP_DEADLINE_MS,
  ).catch((cause: unknown) => {
    throw new Error(`the daemon said:\n${log}`, { cause });
  });
  // The spawned child is nsenter, and the daemon is the child of nsenter.
  const [pid] = childrenOf(entered.pid ?? 0);
  if (pid === undefined) throw new Error('the daemon is not found');
  const name =
    variant === WITH_TWO_BACKENDS
      ? `tonearm, ${WITH_TWO_BACKENDS}`
      : `${FOUR}${variant === '' ? '' : ` and ${variant}`}`;
  return { what: name, node: what, pid };
}

interface BareNode {
  readonly resting: Resting;
  readonly child: ChildProcess;
}

function startBareNode({ what, flags, env }: Launch, ...loaded: readonly string[]): BareNode {
  const arguments_ = [...flags, fileURLToPath(BARE), String(THREADS), ...loaded];
  const child = spawn(process.execPath, arguments_, { env: { ...process.env, ...env }, stdio: 'ignore' });
  // A measurement that is not done in time ends without its `finally`.
  process.once('exit', () => child.kill('SIGKILL'));
  const name = loaded.length === 0 ? BARE_NODE : `${BARE_NODE} with our code`;
  return { resting: { what: name, node: what, pid: child.pid ?? 0 }, child };
}

/** Figures of one process in each window: wake-ups per second, and ms of CPU per minute. */
interface Watched {
  readonly program: Resting;
  readonly wakeUps: number[];
  readonly cpu: number[];
}

async function measureWindows(
  programs: readonly Resting[],
  { rounds, ms }: Context,
): Promise<readonly Watched[]> {
  const watched = programs.map((program) => ({ program, wakeUps: [] as number[], cpu: [] as number[] }));
  const windowMs = ms(WINDOW_MS);
  for (let left = rounds(WINDOWS); left > 0; left -= 1) {
    const before = programs.map(({ pid }) => ({ woken: wakeUps(pid), cpu: cpuMs(pid) }));
    await pause(windowMs);
    for (const [index, figures] of watched.entries()) {
      const { woken, cpu } = before[index] ?? { woken: Number.NaN, cpu: Number.NaN };
      figures.wakeUps.push(((wakeUps(figures.program.pid) - woken) * 1000) / windowMs);
      figures.cpu.push(((cpuMs(figures.program.pid) - cpu) * MS_PER_MINUTE) / windowMs);
    }
  }
  return watched;
}

/** Only the rows of the daemon with four backends have goals. */
function rowsOf(
  { program, wakeUps: woken, cpu }: Watched,
  [bare, loaded]: readonly Resting[],
  uws: Watched | undefined,
): readonly Row[] {
  const hasGoal = program.what === FOUR;
  const name = `${program.what}, ${program.node}`;
  const memory = (what: 'rss' | 'privateDirty', label: string, beside = bare): Row => ({
    what: `${label} at rest: ${name}`,
    unit: 'MB',
    samples: [memoryMb(program.pid)[what]],
    ...(beside && { against: { what: beside.what, samples: [memoryMb(beside.pid)[what]] } }),
  });
  const rate = (what: string, unit: string, samples: readonly number[], theirs: readonly number[]): Row => ({
    what: `${what} at rest: ${name}`,
    unit,
    samples,
    against: { what: 'uWS alone', samples: theirs },
  });
  return [
    { ...memory('rss', 'Rss'), ...(hasGoal && { goal: { atMost: 1.1 } }) },
    ...(hasGoal ? [memory('rss', 'Rss', loaded)] : []),
    memory('privateDirty', 'Private_Dirty'),
    {
      ...rate('wake-ups', '/s', woken, uws?.wakeUps ?? []),
      ...(hasGoal && { goal: { of: 'result', atMost: 1.3 } }),
    },
    {
      ...rate('CPU', 'ms/min', cpu, uws?.cpu ?? []),
      ...(hasGoal && { goal: { of: 'result', atMost: 10 } }),
    },
  ];
}

async function startAll(node: Node): Promise<readonly Resting[]> {
  await node.install(dirname(ENTRY));
  await node.root('systemd-run', '--quiet', '--collect', '/usr/sbin/mosquitto');
  const all: Resting[] = [];
  for (const variant of [...Object.keys(VARIANT_SETTINGS), WITH_TWO_BACKENDS]) {
    // Variants are measured only as packaged.
    for (const launch of variant === '' ? LAUNCHES : LAUNCHES.slice(1))
      all.push(await startDaemon(node, launch, variant, FIRST_PORT + all.length));
  }
  return all;
}

await measurement(async (context) => {
  const reason = whyNoNode();
  if (reason !== false) {
    context.note(reason);
    return [];
  }
  const node = await bootNode();
  const uws = await Forked.start(UWS, JSON.stringify({ headers: [], body: '' }));
  const bares = LAUNCHES.flatMap((launch) => [startBareNode(launch), startBareNode(launch, dirname(ENTRY))]);
  try {
    const all = await startAll(node);
    await pause(context.ms(REST_MS));
    const alone = { what: 'uWS alone', node: 'plain', pid: uws.forked.pid };
    const watched = await measureWindows([...all, alone], context);
    return watched.slice(0, -1).flatMap((figures) =>
      rowsOf(
        figures,
        bares.map(({ resting }) => resting).filter((resting) => resting.node === figures.program.node),
        watched.at(-1),
      ),
    );
  } finally {
    for (const { child } of bares) child.kill('SIGKILL');
    await uws.forked.end();
    await node.close();
  }
});
