// The daemon inside a tenth of one core and 96 MB, with a real sound server outside: how long until it answers, how fast it
// answers, and into how many events many changes go; the last state must be the true one, else it ends with an error.
//   node build/bench/board.js        (needs root and cgroups)

import { Daemon } from '../test/contract/daemon.js';
import { startPulseAudio } from '../test/sound/servers.js';
import { until } from '../test/until.js';
import { memoryMb, quantile, rounded } from './support/figures.js';
import { LAUNCHES, type Launch } from './support/launch-flags.js';
import { SmallBoard } from './support/small-board.js';

const STREAMS = 20;
const GETS = 100;
const CHANGES = 400;
const EVERY_MS = 50;
const CAUGHT_UP_MS = 20_000;

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

async function measure({ what, flags, env }: Launch, board: SmallBoard): Promise<object> {
  const sound = await startPulseAudio();
  const client = await sound.streams('player');
  const streams = await client.open(Array.from({ length: STREAMS }, () => ({ sink: 'living' })));
  const begun = performance.now();
  const daemon = await Daemon.start({
    env: { ...sound.env, ...env },
    config: 'power: {enabled: true}\nupgrade: {enabled: true, resultFile: /nowhere/result.json}\n',
    launcher: board.launcher,
    nodeArguments: flags,
  });
  await until('GET /audio is 200', async () => (await daemon.get('/audio')).status === 200);
  const started = performance.now() - begun;
  const stream = await daemon.events('?snapshot=1');
  const gets: number[] = [];
  for (let at = 0; at < GETS; at += 1) {
    const asked = performance.now();
    await daemon.get('/audio');
    gets.push(performance.now() - asked);
    await pause(EVERY_MS);
  }
  const corked = new Map(streams.map(({ id }) => [id, true]));
  for (let change = 0; change < CHANGES; change += 1) {
    const changed = streams[change % STREAMS];
    if (changed === undefined) continue;
    corked.set(changed.id, change % 3 === 0);
    await changed.cork(change % 3 === 0);
    await pause(EVERY_MS);
  }
  const isTrue = (): boolean =>
    [...stream.model.clients.values()].every((seen) => seen['corked'] === corked.get(Number(seen['id'])));
  await stream.until(isTrue, 'the last state', CAUGHT_UP_MS);
  const { rss } = memoryMb(daemon.pid);
  const row = {
    node: what,
    'first 200, ms (goal 5000)': rounded(started, 0),
    'GET p50, ms': rounded(quantile(gets, 0.5), 1),
    'GET p99, ms': rounded(quantile(gets, 0.99), 1),
    'Rss behind the changes, MB': rounded(rss, 1),
    'times held up': board.throttled,
    'events for the changes': stream.dataOf('audio.updated').length,
  };
  await daemon.stop();
  await client.close();
  await sound.stop();
  return row;
}

const rows: object[] = [];
for (const [at, launch] of LAUNCHES.entries()) {
  const board = new SmallBoard(String(at));
  // Also when the measurement fails: the process ends its children on its own way out, and then the group is empty.
  process.once('exit', () => board.remove());
  rows.push(await measure(launch, board));
}
console.table(rows);
