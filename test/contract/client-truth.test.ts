// The client on the built daemon and a real sound server: whatever happens to the three, each connection ends with the true state,
// which is what the routes say, and what the tests' own consumer has been told.

import assert from 'node:assert/strict';
import { renameSync, writeFileSync } from 'node:fs';
import { connect as connectSocket } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { type ConnectOptions, connect, type Live } from '../../src/client/connect.js';
import { tonearm } from '../../src/client/routes.js';
import type { NodeState, Slice } from '../../src/client/store.js';
import { type SeverableProxy, startProxy } from '../browser/severable-proxy.js';
import type { EventConsumer } from '../consumer/consumer.js';
import { SEED, SeededRandom } from '../seeded-random.js';
import type { SoundServer } from '../sound/server.js';
import { startPulseAudio } from '../sound/servers.js';
import { lacks } from '../tools/requirements.js';
import { until } from '../until.js';
import { Daemon, type Health } from './daemon.js';
import { Storm } from './stream-storm.js';
import { allKnowTheTruth } from './stream-truth.js';

const STEPS = 150;
/** In each step one connection is renewed, or the upgrade changes, with this probability. */
const CHANCE = 0.1;
/** A connection that is cut comes back within 5 s, and if it then fails, within 10 s more. */
const RETURN_MS_MAX = 40_000;

const skip = lacks({ programs: ['pulseaudio', 'pactl'] });

/** What each connection asks for, and which slices it then keeps true. */
const FILTERS: readonly (readonly [ConnectOptions, readonly Slice[]])[] = [
  [{}, ['outputs', 'clients', 'backends', 'upgrade']],
  [{ levels: true }, ['outputs', 'clients', 'backends', 'upgrade']],
  [{ backend: ['audio'] }, ['outputs', 'clients']],
  [{ backend: ['upgrade'], types: ['audio.output.updated', 'audio.output.removed'] }, ['outputs', 'upgrade']],
  [{ types: ['audio.updated', 'audio.removed'] }, ['clients']],
  [{ exclude: ['backend.updated', 'audio.updated'] }, ['outputs']],
];

/** One connection, and what its subscribers have heard. */
class Watched {
  readonly live: Live;
  readonly slices: readonly Slice[];
  readonly heard: Partial<NodeState> = {};
  #levels: boolean;

  constructor(url: string, options: ConnectOptions, slices: readonly Slice[]) {
    this.live = connect(tonearm(url), options);
    this.slices = slices;
    this.#levels = options.levels ?? false;
    for (const slice of slices)
      this.live.subscribe(slice, (value) => Object.assign(this.heard, { [slice]: value }));
  }

  /** Breaks off, and comes back at once. */
  renew(): void {
    this.#levels = !this.#levels;
    this.live.setLevels(this.#levels);
  }

  assertHears(truth: Readonly<Partial<Record<Slice, unknown>>>): void {
    const { state } = this.live;
    assert.equal(state.connection.status, 'live');
    for (const slice of this.slices) {
      assert.deepEqual(plain(state[slice]), truth[slice], slice);
      assert.equal(this.heard[slice], state[slice], `${slice} as it was told`);
    }
  }
}

/** Maps in the order of their keys, as objects. */
function plain(value: unknown): unknown {
  return value instanceof Map ? Object.fromEntries([...value].sort(([a], [b]) => (a < b ? -1 : 1))) : value;
}

describe(`the client's state (TONEARM_FUZZ_SEED=${SEED})`, { skip }, () => {
  const random = new SeededRandom(SEED);
  let sound: SoundServer;
  let daemon: Daemon;
  let proxy: SeverableProxy;
  let storm: Storm;
  let consumer: EventConsumer;
  let watched: readonly Watched[] = [];
  let resultFile = '';

  before(async () => {
    sound = await startPulseAudio();
    resultFile = join(sound.directory, 'upgrade.json');
    const upgrade = `upgrade: {enabled: true, resultFile: ${resultFile}}`;
    daemon = await Daemon.start({ env: sound.env, config: `systemd: {enabled: false}\n${upgrade}\n` });
    await daemon.backend('audio', 'up');
    await daemon.backend('upgrade', 'up');
    proxy = await startProxy(daemon.port);
    storm = await Storm.over(sound, random);
    consumer = await daemon.events('?snapshot=1');
    watched = FILTERS.map(
      ([options, slices]) => new Watched(`http://127.0.0.1:${proxy.port}`, options, slices),
    );
  });
  after(async () => {
    for (const { live } of watched) live.close();
    await storm.close();
    await proxy.close();
    await daemon.stop();
    await sound.stop();
  });

  /** As the routes have it, by slice. */
  async function truth(): Promise<Readonly<Partial<Record<Slice, unknown>>>> {
    type Identified = readonly { readonly id: number }[];
    const audio = await daemon.read<{ outputs: Identified; clients: Identified }>('/audio');
    const { backends } = await daemon.read<Health>('/health');
    const byId = (records: Identified) => plain(new Map(records.map((record) => [record.id, record])));
    return {
      outputs: byId(audio.outputs),
      clients: byId(audio.clients),
      upgrade: await daemon.read('/upgrade'),
      backends: plain(new Map(Object.entries(backends).map(([name, { state }]) => [name, { state }]))),
    };
  }

  async function allAreTrue(): Promise<void> {
    await until(
      'every connection knows the true state',
      async () => {
        const now = await truth();
        for (const each of watched) each.assertHears(now);
        return true;
      },
      RETURN_MS_MAX,
    );
    if (consumer.ended) await consumer.reconnect();
    await allKnowTheTruth(daemon, [consumer]);
  }

  /** As a detector does. */
  function newResult(): void {
    const latest = String(random.below(100));
    writeFileSync(`${resultFile}.new`, JSON.stringify({ current: '1', latest, upgrade_available: true }));
    renameSync(`${resultFile}.new`, resultFile);
  }

  /** As an upgrade script does. Where the daemon is away, it is not heard. */
  async function progress(line: object): Promise<void> {
    const socket = connectSocket(join(daemon.directory, 'tonearm/upgrade.sock'));
    await new Promise<void>((resolve) => {
      socket.on('error', () => resolve());
      socket.end(`${JSON.stringify(line)}\n`, resolve);
    });
    socket.destroy();
  }

  async function aMoment(): Promise<void> {
    const percent = random.below(100);
    await random.pick<() => unknown>([
      () => watched[random.below(watched.length)]?.renew(),
      newResult,
      () => progress({ event: 'progress', percent, current: percent, step: `step ${percent}` }),
      () => progress({ event: 'end', success: random.chance(0.5) }),
    ])();
  }

  async function storms(): Promise<void> {
    for (let step = 0; step < STEPS; step += 1) {
      await storm.step();
      if (random.chance(CHANCE)) await aMoment();
    }
  }

  const blows: readonly (readonly [string, () => Promise<void>])[] = [
    ['nothing worse', async () => undefined],
    ['a cut of every connection', async () => proxy.sever()],
    ['a restart of the daemon', () => daemon.restart()],
    ['a daemon that is killed', () => daemon.restart('SIGKILL')],
    [
      'the end of the sound server, which shows, and another one',
      async () => {
        await storm.close();
        await sound.kill('SIGKILL');
        await until('all know that it is away', () =>
          watched.every(({ live: { state }, slices }) => {
            const isAway =
              !slices.includes('backends') || state.backends.get('audio')?.state === 'connecting';
            return isAway && state.outputs.size === 0 && state.clients.size === 0;
          }),
        );
        await sound.restart();
        await daemon.backend('audio', 'up');
        storm = await Storm.over(sound, random);
      },
    ],
  ];
  for (const [what, blow] of blows) {
    test(`is the true one after a storm, ${what}, and a storm`, async () => {
      await storms();
      await blow();
      await daemon.backend('audio', 'up');
      await storms();
      await allAreTrue();
    });
  }
});
