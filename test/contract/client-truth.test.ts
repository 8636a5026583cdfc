// Connects the client (src/client) to the built daemon on a real sound server. After a failure of
// connections, daemon or sound server, each connection must again have the state that the routes return
// (docs/events.md, "Coming back").

import assert from 'node:assert/strict';
import { renameSync, writeFileSync } from 'node:fs';
import { connect as connectSocket } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { connect } from '../../src/client/connect.js';
import type { ConnectOptions, Live } from '../../src/client/live.js';
import { tonearm } from '../../src/client/routes.js';
import type { NodeState, Slice } from '../../src/client/store.js';
import { type SeverableProxy, startProxy } from '../browser/severable-proxy.js';
import { SEED, SeededRandom } from '../seeded-random.js';
import type { SoundServer } from '../sound/server.js';
import { startPulseAudio } from '../sound/servers.js';
import type { Stream } from '../sound/streams.js';
import { skipReason } from '../tools/requirements.js';
import { until } from '../until.js';
import { Daemon } from './daemon.js';
import { Mixer } from './stream-mixer.js';

const STEPS = 150;
/** The probability of each of these changes in a step: a stream is renamed, is opened, is ended. */
const STREAM_CHANGE_PROBABILITY = 0.08;
/** The probability of a side change in each step: a connection is renewed, or the upgrade changes. */
const SIDE_CHANGE_PROBABILITY = 0.2;
/**
 * The node's `retry:` is at most 5 s (gateway/events/frames.ts). The client waits at most this time before
 * its first attempt to reconnect. Each failed attempt doubles the longest wait (`#pause` in
 * client/stream.ts). So the third attempt begins within 5 + 10 + 20 = 35 s. By then the node is back.
 */
const RETURN_MAX_MS = 40_000;

const skip = skipReason({ programs: ['pulseaudio', 'pactl'] });

const STREAMS_MAX = 12;

/**
 * Prepares a storm, which is a series of changes of volumes and streams at the sound server. The seed
 * determines the changes. Each call of `step` makes at least one change, and resolves when the sound server
 * has applied all changes of the step.
 */
async function startStorm(sound: SoundServer, random: SeededRandom) {
  const sinks = (await sound.sinks()).map(({ index }) => index);
  const mixer = await Mixer.connect(sound.socketPath);
  const soundClient = await sound.streams('storm');
  const streams = new Set<Stream>();
  let titleCount = 0;
  /** Some streams share a title, so the daemon must make their names unique. */
  const nextTitle = (): string => {
    titleCount += 1;
    return `song ${titleCount % 7}`;
  };
  const open = async (): Promise<void> => {
    const [stream] = await soundClient.open([{ sink: 'kitchen', props: { 'media.name': nextTitle() } }]);
    if (stream !== undefined) streams.add(stream);
  };
  /** Changes one volume; sometimes it also renames, opens or ends a stream. */
  const step = async (): Promise<void> => {
    // With fewer than `STREAMS_MAX` streams, the index may be too large. Then the step sets a sink's volume.
    const stream = [...streams][random.below(STREAMS_MAX)];
    const level = random.below(100) / 100;
    if (stream === undefined) await mixer.setSinkVolume(random.pick(sinks), level);
    else await mixer.setStreamVolume(stream.id, level);
    if (random.chance(STREAM_CHANGE_PROBABILITY)) await stream?.rename(nextTitle());
    if (random.chance(STREAM_CHANGE_PROBABILITY) && streams.size < STREAMS_MAX) await open();
    if (random.chance(STREAM_CHANGE_PROBABILITY) && stream !== undefined) {
      streams.delete(stream);
      await stream.remove();
    }
  };
  const close = async (): Promise<void> => {
    mixer.close();
    await soundClient.close();
  };
  return { step, close };
}

/**
 * A row has the filter of one connection, and the slices of the state that this connection keeps up to date.
 * If a filter has `backend` and `types`, an event passes if one of the two selects it (docs/events.md,
 * "Query").
 */
const FILTERS: readonly (readonly [filter: ConnectOptions, slices: readonly Slice[]])[] = [
  [{}, ['outputs', 'clients', 'backends', 'upgrade']],
  [{ levels: true }, ['outputs', 'clients', 'backends', 'upgrade']],
  [{ backend: ['audio'] }, ['outputs', 'clients']],
  [{ backend: ['upgrade'], types: ['audio.output.updated', 'audio.output.removed'] }, ['outputs', 'upgrade']],
  [{ types: ['audio.updated', 'audio.removed'] }, ['clients']],
  [{ exclude: ['backend.updated', 'audio.updated'] }, ['outputs']],
];

/** One connection, and the newest values that it has passed to the listeners of its slices. */
class WatchedConnection {
  readonly live: Live;
  readonly slices: readonly Slice[];
  readonly received: Partial<NodeState> = {};
  #levels: boolean;

  constructor(url: string, options: ConnectOptions, slices: readonly Slice[]) {
    this.live = connect(tonearm(url), options);
    this.slices = slices;
    this.#levels = options.levels ?? false;
    for (const slice of slices)
      this.live.subscribe(slice, (value) => Object.assign(this.received, { [slice]: value }));
  }

  /** Turns the levels on or off. The client then closes the connection, and opens a new one at once. */
  renew(): void {
    this.#levels = !this.#levels;
    this.live.setLevels(this.#levels);
  }

  assertReceived(truth: Readonly<Partial<Record<Slice, unknown>>>): void {
    const { state } = this.live;
    assert.equal(state.connection.status, 'live');
    for (const slice of this.slices) {
      assert.deepEqual(toComparable(state[slice]), truth[slice], slice);
      assert.equal(this.received[slice], state[slice], `${slice} as it was received`);
    }
  }
}

/** A map becomes an object whose keys are sorted. Every other value stays as it is. */
function toComparable(value: unknown): unknown {
  return value instanceof Map ? Object.fromEntries([...value].sort(([a], [b]) => (a < b ? -1 : 1))) : value;
}

describe(`client and node (TONEARM_FUZZ_SEED=${SEED})`, { skip }, () => {
  const random = new SeededRandom(SEED);
  let sound: SoundServer;
  let daemon: Daemon;
  let proxy: SeverableProxy;
  let storm: Awaited<ReturnType<typeof startStorm>>;
  let connections: readonly WatchedConnection[] = [];
  let resultFile = '';

  before(async () => {
    sound = await startPulseAudio();
    resultFile = join(sound.directory, 'upgrade.json');
    const upgrade = `upgrade: {enabled: true, resultFile: ${resultFile}}`;
    const config = `systemd: {enabled: false}\n${upgrade}\n`;
    daemon = await Daemon.start({ env: sound.env, config });
    for (const backend of ['audio', 'upgrade']) await daemon.untilBackend(backend, 'up');
    proxy = await startProxy(daemon.port);
    storm = await startStorm(sound, random);
    const url = `http://127.0.0.1:${proxy.port}`;
    connections = FILTERS.map(([options, slices]) => new WatchedConnection(url, options, slices));
  });
  after(async () => {
    for (const { live } of connections) live.close();
    await storm.close();
    await proxy.close();
    await daemon.stop();
    await sound.stop();
  });

  /** The state that the routes return, by slice. */
  async function readTruth(): Promise<Readonly<Partial<Record<Slice, unknown>>>> {
    type Identified = readonly { readonly id: number }[];
    const audio = await daemon.read<{ outputs: Identified; clients: Identified }>('/audio');
    const { backends } = await daemon.health();
    const byId = (records: Identified) => toComparable(new Map(records.map((record) => [record.id, record])));
    // While both backends are up, the client's slice `backends` has only their `state`. /health has more.
    return {
      outputs: byId(audio.outputs),
      clients: byId(audio.clients),
      upgrade: await daemon.read('/upgrade'),
      backends: toComparable(new Map(Object.entries(backends).map(([name, { state }]) => [name, { state }]))),
    };
  }

  async function assertAllReceived(): Promise<true> {
    const truth = await readTruth();
    for (const connection of connections) connection.assertReceived(truth);
    return true;
  }

  /** Writes a result as a detector of upgrades does: into a new file, which replaces the result file. */
  function writeNewResult(): void {
    const latest = String(random.below(100));
    writeFileSync(`${resultFile}.new`, JSON.stringify({ current: '1', latest, upgrade_available: true }));
    renameSync(`${resultFile}.new`, resultFile);
  }

  /** Sends a line in the same way as an upgrade script. While the daemon is away, the line is lost. */
  async function sendProgress(line: object): Promise<void> {
    const socket = connectSocket(join(daemon.directory, 'tonearm/upgrade.sock'));
    await new Promise<void>((resolve) => {
      socket.on('error', () => resolve());
      socket.end(`${JSON.stringify(line)}\n`, resolve);
    });
    socket.destroy();
  }

  async function makeSideChange(): Promise<void> {
    const percent = random.below(100);
    await random.pick<() => unknown>([
      () => random.pick(connections).renew(),
      writeNewResult,
      () => sendProgress({ event: 'progress', percent, current: percent, step: `step ${percent}` }),
      () => sendProgress({ event: 'end', success: random.chance(0.5) }),
    ])();
  }

  async function runStorm(): Promise<void> {
    for (let step = 0; step < STEPS; step += 1) {
      await storm.step();
      if (random.chance(SIDE_CHANGE_PROBABILITY)) await makeSideChange();
    }
  }

  const failures: readonly (readonly [failure: string, cause: () => Promise<void>])[] = [
    ['a cut of every connection', async () => proxy.sever()],
    ['a restart of the daemon after SIGTERM', () => daemon.restart()],
    ['a restart of the daemon after SIGKILL', () => daemon.restart('SIGKILL')],
    [
      'an outage of the sound server',
      async () => {
        await storm.close();
        await sound.kill('SIGKILL');
        await until('every connection has noticed the outage', () =>
          connections.every(({ live: { state }, slices }) => {
            const isAudioAway = state.backends.get('audio')?.state === 'connecting';
            const isEmpty = state.outputs.size === 0 && state.clients.size === 0;
            return slices.includes('backends') ? isEmpty && isAudioAway : isEmpty;
          }),
        );
        await sound.restart();
        await daemon.untilBackend('audio', 'up');
        storm = await startStorm(sound, random);
      },
    ],
  ];
  for (const [failure, causeFailure] of failures) {
    test(`every connection of the client has the node's state after many changes, ${failure}, and many further changes`, async () => {
      await runStorm();
      await causeFailure();
      await daemon.untilBackend('audio', 'up');
      await runStorm();
      await until('every connection has the state of the node', assertAllReceived, RETURN_MAX_MS);
    });
  }
});
