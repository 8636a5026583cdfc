// `tonearm bench` measures, and leaves the user's audio and the files of a running daemon as they were, even
// if the bench is interrupted. The sound servers are real.

import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { type ListenPair, loopbackArgument } from '../../src/actors/audio/listen-modules.js';
import { GROUP_MARK, GROUP_PREFIX } from '../../src/actors/audio/marks.js';
import type { Report } from '../../src/cli/bench/report.js';
import type { SoundServer } from '../sound/server.js';
import { SOUND_SERVERS } from '../sound/servers.js';
import { spawned } from '../tools/spawned.js';
import { until } from '../until.js';
import { ENTRY } from './daemon.js';

const TIME_LIMIT = { timeout: 300_000 };
const BENCH = [process.execPath, ENTRY, 'bench', '--json', '--seconds', '2'];

/** A sleep timer that has ended. A starting daemon would remove the timer's file, but the bench must not. */
const OLD_SLEEP = '{"until":"2020-01-01T00:00:00.000Z","fade":20}\n';

/** The group has the outputs `living` and `kitchen`, and plays one stream to each. */
const GROUP_STREAMS = 2;
const LOOPBACK_STREAMS = 1;

const daemonFolder = (sound: SoundServer): string => join(sound.directory, 'tonearm');

/** The state of the sound server that the bench must not change, and the files of the user's daemon. */
async function userAudio(sound: SoundServer): Promise<unknown> {
  const listed = [...(await sound.sinks()), ...(await sound.sinkInputs())];
  return {
    settings: listed.map(({ index, mute, volume, properties }) => ({ index, mute, volume, properties })),
    modules: await sound.pactl('list', 'short', 'modules'),
    defaultSink: await sound.pactl('get-default-sink'),
    files: filesIn(daemonFolder(sound)),
  };
}

const filesIn = (folder: string) =>
  readdirSync(folder).map((name) => [name, readFileSync(join(folder, name), 'utf8')]);

/** Makes what a running daemon keeps: a group, the loopback that plays an input, and a file. */
async function imitateDaemon(sound: SoundServer): Promise<void> {
  const group = `${GROUP_PREFIX}all`;
  const properties = `sink_properties="media.name=${group} ${GROUP_MARK}=all"`;
  await sound.pactl(
    'load-module',
    'module-combine-sink',
    `sink_name=${group} slaves=living,kitchen ${properties}`,
  );
  await sound.addInput('mike');
  const pair: ListenPair = { input: 'mike', output: 'living', origin: 'command' };
  // The default latency is 100 ms, and the bench uses the default. If the bench did the upkeep of a daemon,
  // it would replace this loopback, because 250 ms is not the default.
  const latencyMs = 250;
  await sound.pactl('load-module', 'module-loopback', loopbackArgument(pair, 'Mike', latencyMs));
  mkdirSync(daemonFolder(sound));
  writeFileSync(join(daemonFolder(sound), 'sleep.json'), OLD_SLEEP);
  await until('the streams of group and loopback are listed', async () => {
    const streams = await sound.sinkInputs();
    return streams.length === GROUP_STREAMS + LOOPBACK_STREAMS;
  });
}

/**
 * Starts a sound server with all that `imitateDaemon` makes, and with one more stream. `before` is the
 * user's audio while this stream plays.
 */
async function startWithStream(t: TestContext, startServer: () => Promise<SoundServer>) {
  const sound = await startServer();
  t.after(() => sound.stop());
  await imitateDaemon(sound);
  await sound.play({ app: 'player', name: 'song' });
  return { sound, before: await userAudio(sound) };
}

async function assertAsBefore(sound: SoundServer, before: unknown): Promise<void> {
  // The server notices the end of a connection a moment after the end of the process.
  await until('the stream of the bench is gone', async () => (await findBenchStream(sound)) === undefined);
  assert.deepEqual(await userAudio(sound), before);
}

const findBenchStream = async (sound: SoundServer) =>
  (await sound.sinkInputs()).find(({ properties: { 'application.name': name } }) => name === 'tonearm bench');

interface Interruption {
  readonly signal: NodeJS.Signals;
  /** The command whose process gets the signal. */
  readonly command: readonly string[];
}

/**
 * A shell that starts the bench and waits for it. A signal to the shell does not reach the bench, so the
 * bench completes its measurement.
 */
const BENCH_IN_SHELL = ['sh', '-c', '"$@" & wait', 'sh', ...BENCH];
const INTERRUPTIONS: readonly Interruption[] = [
  { signal: 'SIGTERM', command: BENCH },
  { signal: 'SIGKILL', command: BENCH },
  { signal: 'SIGKILL', command: BENCH_IN_SHELL },
];

for (const { kind, skip, start: startServer } of SOUND_SERVERS) {
  test(`${kind}: tonearm bench measures everything on a silent stream of its own, and leaves all else as it was`, {
    ...TIME_LIMIT,
    skip,
  }, async (t) => {
    const { sound, before } = await startWithStream(t, startServer);
    const bench = spawned(t, sound.env, BENCH);
    const { corked, mute } = await until('the bench has a stream', () => findBenchStream(sound));
    assert.match(bench.err(), /^tonearm bench: for about 2 s, the sound server has one more stream/);
    // The bench corks its stream to make it silent, and does not mute it.
    assert.equal(corked, true, 'the stream is corked, and so it is silent');
    assert.equal(mute, false);
    assert.equal(await bench.ended, 0);
    await assertAsBefore(sound, before);
    const report: Report = JSON.parse(bench.out());
    assert.equal(report.missing, null);
    assert.match(report.server ?? '', new RegExp(`^${kind}, `));
    for (const [name, value] of [...Object.entries(report.figures), ...Object.entries(report.estimate)]) {
      assert.ok(value !== null && value >= 0, `${name}: ${value}`);
    }
  });

  test(`${kind}: an interrupted tonearm bench leaves nothing behind`, { ...TIME_LIMIT, skip }, async (t) => {
    const { sound, before } = await startWithStream(t, startServer);
    for (const { signal, command } of INTERRUPTIONS) {
      const bench = spawned(t, sound.env, command);
      await until(`the bench has a stream before ${signal}`, () => findBenchStream(sound));
      bench.child.kill(signal);
      await bench.ended;
      await assertAsBefore(sound, before);
    }
  });
}

test('tonearm bench without a sound server measures all that needs no server', TIME_LIMIT, async (t) => {
  const withoutServer = {
    PATH: process.env['PATH'] ?? '',
    HOME: '/nowhere',
    PULSE_SERVER: 'unix:/nowhere/native',
  };
  const bench = spawned(t, withoutServer, BENCH);
  assert.equal(await bench.ended, 0);
  const report: Report = JSON.parse(bench.out());
  assert.equal(report.server, null);
  assert.match(report.missing ?? '', /ENOENT/);
  assert.ok((report.figures['decode_us_per_stream'] ?? 0) > 0);
  assert.ok((report.figures['memory_mb'] ?? 0) > 0);
  assert.equal(report.figures['round_trip_ms_p50'], null);
  assert.ok((report.estimate.streams ?? 0) > 0);
});
