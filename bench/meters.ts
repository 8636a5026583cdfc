// Measures what meters cost. Two outputs play a tone that gets louder and quieter, and the CPU of the daemon
// is measured without a listener and with one. It is also measured with a listener while they play silence.
// Other rows say how soon the published level is the true one, and how long a command takes while somebody
// listens.
//   node build/bench/meters.js [--quick] [--json] [PARTS OF ROWS, such as 'pipewire']

import { type ChildProcess, spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { EventConsumer } from '../test/consumer/consumer.js';
import { Daemon } from '../test/contract/daemon.js';
import type { Playing, SoundServer } from '../test/sound/server.js';
import { SOUND_SERVERS } from '../test/sound/servers.js';
import { until } from '../test/until.js';
import { cpuMs, quantile, wakeUps } from './support/figures.js';
import { type Context, measurement } from './support/measurement.js';
import type { Row } from './support/rows.js';

const OUTPUTS = ['living', 'kitchen'];
const WARM_UP_MS = 20_000;
const WATCHED_MS = 15_000;
const TOGGLES = 40;
/** This time is a prime number, so that toggles do not fall in step with a timer. */
const BETWEEN_TOGGLES_MS = 373;
const STREAMS = 20;
const SOON = { of: 'result', atMost: 150 } as const;
const COMMANDS = 200;
const BETWEEN_COMMANDS_MS = 17;

const RATE = 8000;
const SECONDS = 180;
const CHANNELS = 2;
const BYTES_PER_SAMPLE = 2;
const FULL_SCALE = 0x7fff;
/** The period of the tone. */
const PERIOD_FRAMES = 16;
/** The periods of the two sines by which the loudness changes, out of step with each other. */
const SWELLS_SECONDS = [3.7, 0.43] as const;

/** Sound whose level is never the same for long. */
const swelling = (second: number): number =>
  SWELLS_SECONDS.reduce((sum, period) => sum + 0.2 * Math.sin((2 * Math.PI * second) / period), 0.5);

/** Sound that falls silent again and again, as music does, and out of step with every timer. */
const LOUD_S = 0.613;
const SILENT_S = 0.471;
const FALLS = 40;
const falling = (second: number): number => (second % (LOUD_S + SILENT_S) < LOUD_S ? 0.5 : 0);

function soundFile(directory: string, amplitude: (second: number) => number): string {
  const samples = Buffer.alloc(RATE * SECONDS * CHANNELS * BYTES_PER_SAMPLE);
  for (let frame = 0; frame < RATE * SECONDS; frame += 1) {
    const wave = Math.sin((2 * Math.PI * frame) / PERIOD_FRAMES);
    const sample = Math.round(wave * amplitude(frame / RATE) * FULL_SCALE);
    for (let channel = 0; channel < CHANNELS; channel += 1) {
      // The second channel is half as loud, because `sample >> 1` is half of the sample.
      samples.writeInt16LE(sample >> channel, (frame * CHANNELS + channel) * BYTES_PER_SAMPLE);
    }
  }
  // The file has the name of the function, `swelling` or `falling`.
  const path = join(directory, amplitude.name);
  writeFileSync(path, samples);
  return path;
}

async function measureCost(
  daemon: Daemon,
  what: string,
  { ms }: Context,
  stream?: EventConsumer,
): Promise<readonly Row[]> {
  await pause(ms(WARM_UP_MS));
  const watchedMs = ms(WATCHED_MS);
  const before = {
    cpu: cpuMs(daemon.pid),
    woken: wakeUps(daemon.pid),
    delivered: stream?.events.length ?? 0,
  };
  await pause(watchedMs);
  const perSecond = (count: number): readonly number[] => [(count * 1000) / watchedMs];
  const delivered = (stream?.events.length ?? 0) - before.delivered;
  return [
    {
      what: `CPU, ${what}`,
      unit: '% of a core',
      samples: [((cpuMs(daemon.pid) - before.cpu) * 100) / watchedMs],
      ...(stream === undefined ? {} : { goal: { of: 'result', atMost: 1 } as const }),
    },
    { what: `wake-ups, ${what}`, unit: '/s', samples: perSecond(wakeUps(daemon.pid) - before.woken) },
    ...(stream === undefined ? [] : [{ what: `events, ${what}`, unit: '/s', samples: perSecond(delivered) }]),
  ];
}

/** From the answer to a mute of the only stream to the event with the new level, in ms (goal 150). */
async function measureMutes(
  sound: SoundServer,
  stream: EventConsumer,
  { id }: Playing,
): Promise<readonly number[]> {
  const samples: number[] = [];
  for (let toggle = 0; toggle < TOGGLES; toggle += 1) {
    const muted = toggle % 2 === 0;
    await sound.pactl('set-sink-input-mute', `${id}`, muted ? '1' : '0');
    const from = performance.now();
    await stream.until(
      ({ model }) => [...model.known.levels.values()].some(([peak = 0]) => peak > 0) === !muted,
    );
    samples.push(performance.now() - from);
    await pause(BETWEEN_TOGGLES_MS);
  }
  return samples;
}

/** Starts a recorder with low latency. It calls `onLoud` for each piece of sound that is not silent. */
function startRecorder({ env }: SoundServer, latencyMs: number, onLoud: () => void): ChildProcess {
  const format = ['--raw', '--format=s16le', '--rate=8000', '--channels=1', `--latency-msec=${latencyMs}`];
  const parec = spawn('parec', ['--device=living.monitor', ...format], {
    env,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  parec.stdout.on('data', (samples: Uint8Array) => {
    if (samples.some((byte) => byte !== 0)) onLoud();
  });
  return parec;
}

/** Resolves with the time at which a recorder that begins now gets the first sound. */
function firstSoundOfParec(sound: SoundServer): Promise<number> {
  return new Promise((resolve, reject) => {
    const parec = startRecorder(sound, 20, () => {
      resolve(performance.now());
      parec.kill('SIGKILL');
    });
    parec.once('exit', () => reject(new Error('parec has ended without any sound')));
  });
}

const isLoud = ({ model }: EventConsumer): boolean =>
  [...model.known.levels.values()].some(([peak = 0]) => peak > 0);
const isSilent = (consumer: EventConsumer): boolean => !isLoud(consumer);

/** Milliseconds from the last sound that a recorder gets to the level of silence. */
async function measureSilences(sound: SoundServer, stream: EventConsumer): Promise<readonly number[]> {
  const samples: number[] = [];
  const playing = await sound.play({ sink: 'living', samples: soundFile(sound.directory, falling) });
  let loudAt = performance.now();
  const parec = startRecorder(sound, 10, () => {
    loudAt = performance.now();
  });
  try {
    while (samples.length < FALLS) {
      await stream.until(isLoud);
      await stream.until(isSilent);
      if (parec.exitCode !== null) throw new Error('parec has ended');
      samples.push(performance.now() - loudAt);
    }
  } finally {
    parec.kill('SIGKILL');
    await playing.stop();
  }
  // The first value may cover the time before any sound.
  return samples.slice(1);
}

interface StartsAndEnds {
  readonly starts: readonly number[];
  /** From a recorder's first sound to the level. The recorder begins when the stream is listed. */
  readonly behind: readonly number[];
  readonly ends: readonly number[];
}

/** Milliseconds from the listing of a stream to its level, and from the end of its player to silence. */
async function measureStartsAndEnds(
  sound: SoundServer,
  stream: EventConsumer,
  samplesFile: string,
): Promise<StartsAndEnds> {
  const starts: number[] = [];
  const behind: number[] = [];
  const ends: number[] = [];
  for (let turn = 0; turn < STREAMS; turn += 1) {
    const playing = await sound.play({ sink: 'living', samples: samplesFile });
    let from = performance.now();
    const firstSoundAt = firstSoundOfParec(sound);
    await stream.until(isLoud);
    const displayedAt = performance.now();
    starts.push(displayedAt - from);
    behind.push(Math.max(0, displayedAt - (await firstSoundAt)));
    await pause(BETWEEN_TOGGLES_MS);
    from = performance.now();
    process.kill(playing.pid);
    await stream.until(isSilent);
    ends.push(performance.now() - from);
    await playing.stop();
  }
  return { starts, behind, ends };
}

async function measureCommands(daemon: Daemon): Promise<readonly number[]> {
  const samples: number[] = [];
  for (let command = 0; command < COMMANDS; command += 1) {
    const from = performance.now();
    await daemon.post('/audio/outputs/living/volume', { volume: command % 2 === 0 ? 0.9 : 1 });
    samples.push(performance.now() - from);
    await pause(BETWEEN_COMMANDS_MS);
  }
  return samples;
}

async function measure(
  { kind, start }: (typeof SOUND_SERVERS)[number],
  context: Context,
): Promise<readonly Row[]> {
  const sound = await start();
  const daemon = await Daemon.start({ env: sound.env, config: 'systemd: {enabled: false}\n' });
  await daemon.untilBackend('audio', 'up');
  const samplesFile = soundFile(sound.directory, swelling);
  const playing = await Promise.all(OUTPUTS.map((sink) => sound.play({ sink, samples: samplesFile })));
  const alone = await measureCost(daemon, `nobody listens, ${kind}`, context);
  const aloneMs = await measureCommands(daemon);
  const stream = await daemon.events('?types=audio.level');
  const listening = await measureCost(daemon, `one listens, sound, ${kind}`, context, stream);
  const listeningMs = await measureCommands(daemon);
  const [first, second] = playing;
  await second?.stop();
  const mutes = first === undefined ? [] : await measureMutes(sound, stream, first);
  await first?.stop();
  const { starts, behind, ends } = await measureStartsAndEnds(sound, stream, samplesFile);
  const silences = await measureSilences(sound, stream);
  const silent = await Promise.all(OUTPUTS.map((sink) => sound.play({ sink })));
  await until('both outputs are measured', async () => {
    const captures = await sound.pactl('list', 'short', 'source-outputs');
    return captures.trim().split('\n').length === OUTPUTS.length;
  });
  const silence = await measureCost(daemon, `one listens, silence, ${kind}`, context, stream);
  for (const silentStream of silent) await silentStream.stop();
  await daemon.stop();
  await sound.stop();
  return [
    ...alone,
    ...listening,
    ...silence,
    {
      what: `a volume's answer while one listens, ${kind}`,
      unit: 'ms',
      samples: listeningMs,
      against: { what: 'nobody listens', samples: aloneMs },
    },
    { what: `from a mute or its end to the level, ${kind}`, unit: 'ms', samples: mutes, goal: SOON },
    // PulseAudio has no goal here. When a stream starts, its null sink mixes ahead as far as the player
    // allows (2 s with pacat). A meter that begins after that gets nothing of what is mixed already.
    {
      what: `from a stream's start to the level, ${kind}`,
      unit: 'ms',
      samples: starts,
      ...(kind === 'pipewire' ? { goal: SOON } : {}),
    },
    {
      what: `the level behind what parec is given that begins with the stream, ${kind}`,
      unit: 'ms',
      samples: behind,
      goal: SOON,
    },
    { what: `from a stream's end to silence, ${kind}`, unit: 'ms', samples: ends, goal: SOON },
    { what: `from a silence in the sound to silence, ${kind}`, unit: 'ms', samples: silences, goal: SOON },
    { what: `the same, p90, ${kind}`, unit: 'ms', samples: [quantile(silences, 0.9)], goal: SOON },
  ];
}

await measurement(async (context) => {
  const rows: Row[] = [];
  for (const server of SOUND_SERVERS.filter(({ kind }) => context.selects(kind)))
    rows.push(...(await measure(server, context)));
  return rows;
});
