// Measures the daemon inside a tenth of one core and 96 MB, with a real sound server outside: how long its
// start takes, how fast it answers, and how many events it sends for many changes. It fails if the last
// state is not the true one. The start is compared with that of a bare program: uWebSockets.js with one
// thread, or with one thread per backend. The first answer of the bare program waits for its threads, as the
// daemon's waits for the sound server.
//   node build/bench/board.js [--quick] [--json]       (needs root and cgroups)

import { Daemon } from '../test/contract/daemon.js';
import { startPulseAudio } from '../test/sound/servers.js';
import { until } from '../test/until.js';
import { memoryMb, quantile } from './support/figures.js';
import { firstAnswer, prepareStart } from './support/first-answer.js';
import { LAUNCHES, type Launch } from './support/launch-flags.js';
import { type Context, measurement } from './support/measurement.js';
import type { Row } from './support/rows.js';
import { SmallBoard, whyNoBoard } from './support/small-board.js';

const STREAMS = 16;
const GETS = 100;
/** An odd number for each stream, so that its last state is not its first. */
const CHANGES = 25 * STREAMS;
const EVERY_MS = 50;
const CAUGHT_UP_MS = 20_000;
const START_ROUNDS = 5;
/** One for each of four backends. */
const THREADS = 4;
/** Requests are not closer together, because each takes some of the little CPU of the starting program. */
const POLL_MS = 25;

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

function rowOf(launch: string, figure: string, unit: string, samples: readonly number[]): Row {
  return { what: `in 10 % of a core and 96 MB, ${launch}: ${figure}`, unit, samples };
}

/** Starts a sound server, and its streams. */
async function startPlaying() {
  const sound = await startPulseAudio();
  const client = await sound.streams('player');
  const streams = await client.open(Array.from({ length: STREAMS }, () => ({ sink: 'living' })));
  const end = (): Promise<void> => client.close().then(() => sound.stop());
  return { env: sound.env, streams, end };
}

/**
 * Starts the daemon, the least program with one thread, and the least program with all threads. They take
 * turns, because programs that run together would share the CPU and the memory of the board.
 */
async function measureStarts(
  { what, flags, env }: Launch,
  board: SmallBoard,
  { rounds }: Context,
): Promise<readonly Row[]> {
  const { env: soundEnv, end } = await startPlaying();
  const program = await prepareStart();
  const sides = [program.daemonArguments, program.bareArguments(1), program.bareArguments(THREADS)].map(
    (args) => ({
      command: [...board.launcher, process.execPath, ...flags, ...args],
      ms: [] as number[],
      cpuMs: [] as number[],
      rss: [] as number[],
    }),
  );
  for (let round = rounds(START_ROUNDS); round > 0; round -= 1) {
    for (const { command, ...samples } of sides) {
      const started = await firstAnswer(command, { ...soundEnv, ...env }, program.port, POLL_MS);
      samples.ms.push(started.ms);
      samples.cpuMs.push(started.cpuMs);
      samples.rss.push(memoryMb(started.pid).rss);
      await started.end();
    }
  }
  program.remove();
  await end();
  const [daemon, withOneThread, withAllThreads] = sides;
  const row = (
    figure: string,
    unit: string,
    samples: readonly number[] = [],
    bare: readonly number[] = [],
  ): Row => ({
    ...rowOf(what, figure, unit, samples),
    against: { what: 'uWS and one bare thread', samples: bare },
  });
  return [
    { ...row('first 200', 'ms', daemon?.ms, withOneThread?.ms), goal: { of: 'result', atMost: 1000 } },
    row('CPU until then', 'ms', daemon?.cpuMs, withOneThread?.cpuMs),
    rowOf(what, `uWS and ${THREADS} bare threads, first 200`, 'ms', withAllThreads?.ms ?? []),
    rowOf(what, `uWS and ${THREADS} bare threads, Rss`, 'MB', withAllThreads?.rss ?? []),
  ];
}

/** Measures the answers of a running daemon, and then its events while streams are corked and uncorked. */
async function measureRunning(
  { what, flags, env }: Launch,
  board: SmallBoard,
  { ms }: Context,
): Promise<readonly Row[]> {
  const { env: soundEnv, streams, end } = await startPlaying();
  const daemon = await Daemon.start({
    env: { ...soundEnv, ...env },
    config: 'power: {enabled: true}\nupgrade: {enabled: true, resultFile: /nowhere/result.json}\n',
    launcher: board.launcher,
    nodeArguments: flags,
  });
  await until('GET /audio is 200', async () => (await daemon.get('/audio')).status === 200);
  const stream = await daemon.events('?snapshot=1');
  const gets: number[] = [];
  for (let count = 0; count < ms(GETS); count += 1) {
    const from = performance.now();
    await daemon.get('/audio');
    gets.push(performance.now() - from);
    await pause(EVERY_MS);
  }
  const corked = new Map(streams.map(({ id }) => [id, true]));
  for (let change = 0; change < ms(CHANGES); change += 1) {
    const changed = streams[change % STREAMS];
    if (changed === undefined) continue;
    const isCorked = corked.get(changed.id) !== true;
    corked.set(changed.id, isCorked);
    await changed.cork(isCorked);
    await pause(EVERY_MS);
  }
  const hasLastState = (): boolean =>
    [...stream.model.known.clients.values()].every(
      (client) => client['corked'] === corked.get(Number(client['id'])),
    );
  await stream.until(hasLastState, 'the last state', CAUGHT_UP_MS);
  const { rss } = memoryMb(daemon.pid);
  const eventCount = stream.dataOf('audio.updated').length;
  const row = (figure: string, unit: string, value: number): Row => rowOf(what, figure, unit, [value]);
  const rows = [
    row('GET /audio, p50', 'ms', quantile(gets, 0.5)),
    row('GET /audio, p99', 'ms', quantile(gets, 0.99)),
    { ...row('Rss behind the changes', 'MB', rss), goal: { of: 'result', atMost: 80 } as const },
    row(`events for ${ms(CHANGES)} changes, the last state among them`, '', eventCount),
    row('held up by the kernel', 'times', board.throttled),
  ];
  await daemon.stop();
  await end();
  return rows;
}

await measurement(async (context) => {
  const reason = whyNoBoard();
  if (reason !== undefined) {
    context.note(reason);
    return [];
  }
  const rows: Row[] = [];
  for (const [at, launch] of LAUNCHES.entries()) {
    const board = new SmallBoard(String(at));
    process.once('exit', () => board.remove());
    rows.push(
      ...(await measureStarts(launch, board, context)),
      ...(await measureRunning(launch, board, context)),
    );
  }
  return rows;
});
