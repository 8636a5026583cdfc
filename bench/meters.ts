// What meters cost: CPU of the daemon with nobody and with one who listens, while two outputs play what gets louder and quieter, and
// while they play silence; how soon the level is the true one; and what a command takes meanwhile.
//   node build/bench/meters.js

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { EventConsumer } from '../test/consumer/consumer.js';
import { Daemon } from '../test/contract/daemon.js';
import type { Playing, SoundServer } from '../test/sound/server.js';
import { SOUND_SERVERS } from '../test/sound/servers.js';
import { until } from '../test/until.js';
import { cpuMs, median, quantile, rounded, wakeUps } from './support/figures.js';

const OUTPUTS = ['living', 'kitchen'];
const WARM_UP_MS = 20_000;
const WATCHED_MS = 15_000;
const TOGGLES = 40;
/** Not a divisor of any period, so that they do not fall in step with one. */
const BETWEEN_TOGGLES_MS = 373;
const COMMANDS = 200;
const BETWEEN_COMMANDS_MS = 17;

const RATE = 8000;
const SECONDS = 180;
const CHANNELS = 2;
const BYTES_PER_SAMPLE = 2;
const FULL_SCALE = 0x7fff;
/** So often its loudness changes, by a sine of that many seconds and one that is not in step with it. */
const SWELLS_SECONDS = [3.7, 0.43] as const;

/** Sound whose level is never the same for long. */
function swellingFile(directory: string): string {
  const samples = Buffer.alloc(RATE * SECONDS * CHANNELS * BYTES_PER_SAMPLE);
  for (let at = 0; at < RATE * SECONDS; at += 1) {
    const swell = SWELLS_SECONDS.reduce((all, s) => all + 0.2 * Math.sin((2 * Math.PI * at) / RATE / s), 0.5);
    const sample = Math.round(Math.sin((2 * Math.PI * at) / 16) * swell * FULL_SCALE);
    for (let channel = 0; channel < CHANNELS; channel += 1) {
      samples.writeInt16LE(sample >> channel, (at * CHANNELS + channel) * BYTES_PER_SAMPLE);
    }
  }
  const path = join(directory, 'swelling');
  writeFileSync(path, samples);
  return path;
}

async function cost(daemon: Daemon, server: string, what: string, stream?: EventConsumer): Promise<object> {
  await pause(WARM_UP_MS);
  const before = { cpu: cpuMs(daemon.pid), woken: wakeUps(daemon.pid), told: stream?.events.length ?? 0 };
  await pause(WATCHED_MS);
  return {
    server,
    what,
    'CPU of a core, % (goal 1)': rounded(((cpuMs(daemon.pid) - before.cpu) * 100) / WATCHED_MS),
    'wake-ups/s': rounded(((wakeUps(daemon.pid) - before.woken) * 1000) / WATCHED_MS, 1),
    'told/s': rounded((((stream?.events.length ?? 0) - before.told) * 1000) / WATCHED_MS, 1),
  };
}

/** From the answer to a mute of the only stream to the level that says so, in ms. */
async function truth(sound: SoundServer, stream: EventConsumer, { id }: Playing): Promise<readonly number[]> {
  const taken: number[] = [];
  for (let toggle = 0; toggle < TOGGLES; toggle += 1) {
    const muted = toggle % 2 === 0;
    await sound.pactl('set-sink-input-mute', `${id}`, muted ? '1' : '0');
    const from = performance.now();
    await stream.until(({ model }) => [...model.levels.values()].some(([peak = 0]) => peak > 0) === !muted);
    taken.push(performance.now() - from);
    await pause(BETWEEN_TOGGLES_MS);
  }
  return taken;
}

async function commands(daemon: Daemon): Promise<readonly number[]> {
  const taken: number[] = [];
  for (let command = 0; command < COMMANDS; command += 1) {
    const from = performance.now();
    await daemon.post('/audio/outputs/living/volume', { volume: command % 2 === 0 ? 0.9 : 1 });
    taken.push(performance.now() - from);
    await pause(BETWEEN_COMMANDS_MS);
  }
  return taken;
}

const spread = (what: string, server: string, taken: readonly number[]): object => ({
  server,
  what,
  'p50, ms': rounded(median(taken), 1),
  'p90, ms': rounded(quantile(taken, 0.9), 1),
  'most, ms': rounded(Math.max(...taken), 1),
});

async function measure(
  { kind, start }: (typeof SOUND_SERVERS)[number],
  costs: object[],
  times: object[],
): Promise<void> {
  const sound = await start();
  const daemon = await Daemon.start({ env: sound.env, config: 'systemd: {enabled: false}\n' });
  await daemon.backend('audio', 'up');
  const samples = swellingFile(sound.directory);
  const playing = await Promise.all(OUTPUTS.map((sink) => sound.play({ sink, samples })));
  costs.push(await cost(daemon, kind, 'nobody listens'));
  times.push(spread('a volume, nobody listens', kind, await commands(daemon)));
  const stream = await daemon.events('?types=audio.level');
  costs.push(await cost(daemon, kind, 'one listens, sound', stream));
  times.push(spread('a volume, one listens', kind, await commands(daemon)));
  const [first, second] = playing;
  await second?.stop();
  if (first !== undefined)
    times.push(spread('mute or not to level', kind, await truth(sound, stream, first)));
  await first?.stop();
  const silent = await Promise.all(OUTPUTS.map((sink) => sound.play({ sink })));
  await until('both are measured', async () => {
    const captures = await sound.pactl('list', 'short', 'source-outputs');
    return captures.trim().split('\n').length === OUTPUTS.length;
  });
  costs.push(await cost(daemon, kind, 'one listens, silence', stream));
  for (const each of silent) await each.stop();
  await daemon.stop();
  await sound.stop();
}

const costs: object[] = [];
const times: object[] = [];
for (const server of SOUND_SERVERS) await measure(server, costs, times);
console.table(costs);
console.table(times);
