// Starts the players backend on a private real bus, with scripted players, and records what it publishes.

import type { TestContext } from 'node:test';
import { PlayersBackend } from '../../../src/actors/players/backend.js';
import { type Clock, systemClock } from '../../../src/host/clock.js';
import type { Collection } from '../../../src/protocol/actor/collections.js';
import type { PlayerPosition, PlayerRecord } from '../../../src/protocol/actor/schemas.js';
import type { PlayersSettings } from '../../../src/protocol/actor/settings.js';
import { PLAYER_NAME_PREFIX } from '../../../src/protocol/dbus/mpris.js';
import { until } from '../../until.js';
import { type PrivateBus, privateBus } from '../bus/private-bus.js';
import { Recorder } from '../recorder.js';
import { type Properties, ScriptedPlayer } from './scripted-player.js';

/** Records players by a short name: `vlc` for `org.mpris.MediaPlayer2.vlc`. */
export class PlayersRecorder extends Recorder {
  readonly positions: PlayerPosition[] = [];
  /** The players that have been published as playing, in the order in which they began. */
  readonly begun = new Set<string>();

  override put(collection: Collection, key: string, json: string): void {
    const name = key.slice(PLAYER_NAME_PREFIX.length);
    super.put(collection, name, json);
    if (collection === 'players' && this.record(name)?.playback_status === 'Playing') this.begun.add(name);
    if (collection === 'players.position') this.positions.push(JSON.parse(json));
  }

  override drop(collection: Collection, key: string): void {
    super.drop(collection, key.slice(PLAYER_NAME_PREFIX.length));
  }

  get names(): readonly string[] {
    const records = this.all<PlayerRecord>('players');
    return records.map(({ bus_name: name }) => name.slice(PLAYER_NAME_PREFIX.length)).sort();
  }

  record(name: string): PlayerRecord | undefined {
    return this.newest('players', name);
  }

  /** Waits until the record of the player is as expected, and returns the record. */
  until(what: string, name: string, isExpected: (record: PlayerRecord) => boolean): Promise<PlayerRecord> {
    return until(what, () => {
      const record = this.record(name);
      return record !== undefined && isExpected(record) && record;
    });
  }
}

/**
 * Starts the backend, and resolves when `untilUp` resolves: by default when the backend is up. `prepare`
 * starts the players that are on the bus before the backend. `dataHome` is the XDG_DATA_HOME of the bus.
 */
export async function startBackend(
  t: TestContext,
  prepare: (bus: PrivateBus) => Promise<void> = async () => undefined,
  {
    dataHome,
    clock = systemClock,
    // This is long enough for a busy machine. A test in which a player hangs sets a shorter time.
    callDeadlineMs = 8_000,
    settings = {},
    untilUp = (recorder) => until('the backend is up', () => recorder.published.includes('up')),
  }: {
    dataHome?: string;
    clock?: Clock;
    callDeadlineMs?: number;
    settings?: Partial<Pick<PlayersSettings, 'ignore' | 'exclusive'>>;
    untilUp?: (recorder: PlayersRecorder) => Promise<unknown>;
  } = {},
) {
  const bus = await privateBus(t, dataHome);
  await prepare(bus);
  const recorder = new PlayersRecorder();
  const options = { paths: bus.paths, backoffMs: () => 20, callDeadlineMs };
  const backend = new PlayersBackend(recorder, clock, options, settings);
  t.after(() => backend.stop());
  await untilUp(recorder);
  /** Starts a player, and waits until the backend has published it. */
  const start = async (name = 'scripted', properties?: Properties) => {
    const player = await ScriptedPlayer.start(t, bus, name, properties);
    await until(`${name} is published`, () => recorder.record(name) !== undefined);
    return player;
  };
  return { bus, recorder, backend, start };
}

/** Starts a player called `hung`, which answers no GetAll. To be called by `prepare` of `startBackend`. */
export async function startHungPlayer(t: TestContext, bus: PrivateBus): Promise<void> {
  const player = await ScriptedPlayer.connect(t, bus);
  player.misbehaviours.set('GetAll', 'hang');
  await player.requestName('hung');
}

export const busNameOf = (name: string): string => PLAYER_NAME_PREFIX + name;
