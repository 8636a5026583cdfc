// What memory the daemon has a minute after 500 streams and a storm of changes, against its own at rest: streams come on a real
// PulseAudio, their volumes change while some listen, and all go. Each way of starting Node has a server and a daemon of its own.
//   node build/bench/memory.js [--quick] [--json]

import { setTimeout as pause } from 'node:timers/promises';
import { Daemon } from '../test/contract/daemon.js';
import { Mixer } from '../test/contract/stream-mixer.js';
import { startPulseAudio } from '../test/sound/servers.js';
import { until } from '../test/until.js';
import { memoryMb } from './support/figures.js';
import { LAUNCHES, type Launch } from './support/launch-flags.js';
import { type Context, measurement } from './support/measurement.js';
import type { Row } from './support/rows.js';
import { StreamReaders } from './support/stream-readers.js';

const STREAMS = 500;
/** PulseAudio takes 256 streams on one. */
const OUTPUTS = ['living', 'kitchen'];
const LISTENERS = 20;
const REST_MS = 60_000;
const STORM_MS = 10_000;
const CHANGES_AT_ONCE = 50;
const LEVELS = 97;
const CREATED_WITHIN_MS = 60_000;

async function measure({ what, flags, env }: Launch, { ms }: Context): Promise<readonly Row[]> {
  const sound = await startPulseAudio();
  const daemon = await Daemon.start({
    env: { ...sound.env, ...env },
    config: 'systemd: {enabled: false}\n',
    nodeArguments: flags,
  });
  await daemon.backend('audio', 'up');
  await pause(ms(REST_MS));
  const rest = memoryMb(daemon.pid).rss;
  const clients = async (): Promise<number> => (await daemon.read<object[]>('/audio/clients')).length;
  const player = await sound.streams('player');
  const streams = await player.open(
    Array.from({ length: STREAMS }, (_, at) => ({ sink: OUTPUTS[at % OUTPUTS.length] ?? '' })),
  );
  await until('all streams are listed', async () => (await clients()) === STREAMS, CREATED_WITHIN_MS);
  const listeners = new StreamReaders();
  await listeners.open(daemon.port, LISTENERS);
  const mixer = await Mixer.connect(sound.socketPath);
  const end = performance.now() + ms(STORM_MS);
  for (let round = 0; performance.now() < end; round += 1) {
    const level = (round % LEVELS) / LEVELS;
    const some = Array.from({ length: CHANGES_AT_ONCE }, (_, at) => {
      const { id } = streams[(round * CHANGES_AT_ONCE + at) % STREAMS] ?? { id: 0 };
      return mixer.setStreamVolume(id, level);
    });
    await Promise.all(some);
  }
  const most = memoryMb(daemon.pid).rss;
  listeners.close();
  mixer.close();
  await player.close();
  await until('all streams are gone', async () => (await clients()) === 0, CREATED_WITHIN_MS);
  await pause(ms(REST_MS));
  const after = memoryMb(daemon.pid).rss;
  await daemon.stop();
  await sound.stop();
  const row = (when: string, value: number): Row => ({
    what: `Rss ${when}, ${what}`,
    unit: 'MB',
    taken: [value],
    against: { what: 'itself at rest', taken: [rest] },
    compare: 'ours - theirs',
  });
  return [
    row(`after a storm with ${STREAMS} streams`, most),
    { ...row('a minute after they are gone', after), goal: { atMost: 5 } },
  ];
}

await measurement(async (context) => {
  const rows = await Promise.all(LAUNCHES.map((launch) => measure(launch, context)));
  return rows.flat();
});
