// The client, and the tests' own consumers, on the built daemon and a real sound server: after any failure of the three, each connection
// must reach the true state, which the routes show (docs/events.md, "Coming back").

import assert from 'node:assert/strict';
import { renameSync, writeFileSync } from 'node:fs';
import { connect as connectSocket } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { Variant } from 'dbus-next';
import { type ConnectOptions, connect, type Live } from '../../src/client/connect.js';
import type { PlayerRecord } from '../../src/client/records.js';
import { tonearm } from '../../src/client/routes.js';
import { type NodeState, positionOf, type Slice } from '../../src/client/store.js';
import { type PrivateBus, privateBus } from '../actors/bus/private-bus.js';
import { metadata, ScriptedPlayer } from '../actors/players/scripted-player.js';
import { type SeverableProxy, startProxy } from '../browser/severable-proxy.js';
import type { EventConsumer } from '../consumer/consumer.js';
import { SEED, SeededRandom } from '../seeded-random.js';
import type { SoundServer } from '../sound/server.js';
import { startPulseAudio } from '../sound/servers.js';
import { lacks } from '../tools/requirements.js';
import { until } from '../until.js';
import { allKnowTheTruth } from './audio-node.js';
import { Daemon } from './daemon.js';
import { Storm } from './stream-storm.js';

const STEPS = 150;
const CONSUMERS = 6;
/** In each step one connection is renewed, or the upgrade changes, with this probability. */
const CHANCE = 0.2;
/** A connection that is cut comes back within 5 s, and if it then fails, within 10 s more. */
const RETURN_MS_MAX = 40_000;

/** The records of daemon and client may be from different moments, because the stream sends a jump as an event of its own. */
const POSITION_US_MAX = 1_000_000;

const skip = lacks({ programs: ['pulseaudio', 'pactl', 'dbus-daemon'] });

/** The filter of each connection, and the slices that it then keeps up to date. */
const FILTERS: readonly (readonly [ConnectOptions, readonly Slice[]])[] = [
  [{}, ['outputs', 'clients', 'backends', 'upgrade', 'players']],
  [{ levels: true }, ['outputs', 'clients', 'backends', 'upgrade', 'players']],
  [{ backend: ['players'] }, ['players']],
  [{ backend: ['audio'] }, ['outputs', 'clients']],
  [{ backend: ['upgrade'], types: ['audio.output.updated', 'audio.output.removed'] }, ['outputs', 'upgrade']],
  [{ types: ['audio.updated', 'audio.removed'] }, ['clients']],
  [{ exclude: ['backend.updated', 'audio.updated'] }, ['outputs']],
];

/** One connection, and the state that its subscribers have received. */
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

  /** Closes the connection, and opens a new one at once. */
  renew(): void {
    this.#levels = !this.#levels;
    this.live.setLevels(this.#levels);
  }

  assertHears(truth: Readonly<Partial<Record<Slice, unknown>>>): void {
    const { state } = this.live;
    assert.equal(state.connection.status, 'live');
    for (const slice of this.slices) {
      if (slice === 'players') assertSamePlayers(state.players, truth.players);
      else assert.deepEqual(plain(state[slice]), truth[slice], slice);
      assert.equal(this.heard[slice], state[slice], `${slice} as it was told`);
    }
  }
}

function assertSamePlayers(players: NodeState['players'], truth: unknown): void {
  const unmoved = (all: readonly PlayerRecord[]) =>
    all.map((player) => ({ ...player, position: undefined, position_updated_at: undefined }));
  const expected = truth as readonly PlayerRecord[];
  const byName = [...players.values()].sort((a, b) => (a.bus_name < b.bus_name ? -1 : 1));
  assert.deepEqual(unmoved(byName), unmoved(expected));
  const now = Date.now();
  for (const [at, player] of byName.entries()) {
    const apart = Math.abs((positionOf(player, now) ?? 0) - (positionOf(expected[at] ?? player, now) ?? 0));
    assert.ok(apart < POSITION_US_MAX, `${player.bus_name}: ${apart} us`);
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
  let consumers: readonly EventConsumer[] = [];
  let watched: readonly Watched[] = [];
  let resultFile = '';
  /** The present players by name. */
  const players = new Map<string, ScriptedPlayer>();
  const present = new Set<string>();
  let bus: PrivateBus;
  const endOfBus: (() => unknown)[] = [];

  before(async () => {
    bus = await privateBus({ after: (end) => void endOfBus.push(end as () => unknown) });
    sound = await startPulseAudio();
    resultFile = join(sound.directory, 'upgrade.json');
    const env = { ...sound.env, DBUS_SESSION_BUS_ADDRESS: bus.address };
    const upgrade = `upgrade: {enabled: true, resultFile: ${resultFile}}`;
    const config = `systemd: {enabled: false}\nplayers: {enabled: true}\n${upgrade}\n`;
    daemon = await Daemon.start({ env, config });
    for (const backend of ['audio', 'upgrade', 'players']) await daemon.backend(backend, 'up');
    proxy = await startProxy(daemon.port);
    storm = await Storm.over(sound, random);
    consumers = await Promise.all(
      Array.from({ length: CONSUMERS }, () => daemon.events('?snapshot=1&backend=audio')),
    );
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
    for (const player of players.values()) player.leave();
    for (const end of endOfBus) await end();
  });

  /** The state by slice, from the routes. */
  async function truth(): Promise<Readonly<Partial<Record<Slice, unknown>>>> {
    type Identified = readonly { readonly id: number }[];
    const audio = await daemon.read<{ outputs: Identified; clients: Identified }>('/audio');
    const { backends } = await daemon.health();
    const byId = (records: Identified) => plain(new Map(records.map((record) => [record.id, record])));
    return {
      outputs: byId(audio.outputs),
      clients: byId(audio.clients),
      upgrade: await daemon.read('/upgrade'),
      players: (await daemon.read<PlayerRecord[]>('/players')).sort((a, b) =>
        a.bus_name < b.bus_name ? -1 : 1,
      ),
      backends: plain(new Map(Object.entries(backends).map(([name, { state }]) => [name, { state }]))),
    };
  }

  async function allAreTrue(): Promise<void> {
    await until(
      'every connection has the state of the node',
      async () => {
        const now = await truth();
        for (const each of watched) each.assertHears(now);
        return true;
      },
      RETURN_MS_MAX,
    );
    for (const consumer of consumers) if (consumer.ended) await consumer.reconnect();
    await allKnowTheTruth(daemon, consumers);
  }

  /** Writes a result in the same way as a detector: beside the file, then renamed. */
  function newResult(): void {
    const latest = String(random.below(100));
    writeFileSync(`${resultFile}.new`, JSON.stringify({ current: '1', latest, upgrade_available: true }));
    renameSync(`${resultFile}.new`, resultFile);
  }

  /** Sends a line in the same way as an upgrade script. While the daemon is away, the line is lost. */
  async function progress(line: object): Promise<void> {
    const socket = connectSocket(join(daemon.directory, 'tonearm/upgrade.sock'));
    await new Promise<void>((resolve) => {
      socket.on('error', () => resolve());
      socket.end(`${JSON.stringify(line)}\n`, resolve);
    });
    socket.destroy();
  }

  /** One of three players starts, ends, or changes. */
  async function aPlayer(): Promise<void> {
    const name = random.pick(['one', 'two', 'three']);
    const player = players.get(name) ?? (await ScriptedPlayer.connect(bus.address));
    players.set(name, player);
    if (!present.has(name)) {
      present.add(name);
      await player.own(name);
    } else if (random.chance(0.2)) {
      present.delete(name);
      await player.disown(name);
    } else {
      random.pick<() => void>([
        () =>
          player.change({ PlaybackStatus: new Variant('s', random.pick(['Playing', 'Paused', 'Stopped'])) }),
        () => player.change({ Metadata: metadata({ 'xesam:title': `Song ${random.below(9)}` }) }),
        () => player.seeked(random.below(100) * 1_000_000),
      ])();
    }
  }

  /** One of the consumers breaks off, or comes back. */
  async function travel(): Promise<void> {
    const consumer = random.pick(consumers);
    if (consumer.ended) return consumer.reconnect();
    consumer.close();
    await consumer.until(({ ended }) => ended);
  }

  async function aMoment(): Promise<void> {
    const percent = random.below(100);
    await random.pick<() => unknown>([
      () => random.pick(watched).renew(),
      travel,
      travel,
      newResult,
      aPlayer,
      aPlayer,
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
    ['a cut of every connection', async () => proxy.sever()],
    ['a restart of the daemon', () => daemon.restart()],
    ['a daemon that is killed', () => daemon.restart('SIGKILL')],
    [
      'the end of the sound server, which shows, and another one',
      async () => {
        await storm.close();
        await sound.kill('SIGKILL');
        await until('every client has noticed the outage', () =>
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
    test(`is that of the node after a storm, ${what}, and a storm`, async () => {
      await storms();
      await blow();
      for (const backend of ['audio', 'players']) await daemon.backend(backend, 'up');
      await storms();
      await allAreTrue();
    });
  }
});
