// The players backend on a private real bus, with scripted players, and the records that it has published.

import type { TestContext } from 'node:test';
import { PlayersBackend } from '../../../src/actors/players/backend.js';
import { type Clock, systemClock } from '../../../src/host/clock.js';
import type { Collection } from '../../../src/protocol/actor/collections.js';
import type { PlayerPosition, PlayerRecord } from '../../../src/protocol/actor/schemas.js';
import type { PlayersSettings } from '../../../src/protocol/actor/settings.js';
import { PLAYER_NAMES } from '../../../src/protocol/dbus/mpris.js';
import { until } from '../../until.js';
import { type PrivateBus, privateBus } from '../bus/private-bus.js';
import { Recorder } from '../recorder.js';
import { type Properties, ScriptedPlayer } from './scripted-player.js';

/** A recorder that leaves out the beginning of the names, which is the same for all players. */
export class PlayersRecorder extends Recorder {
  readonly positions: PlayerPosition[] = [];

  override put(collection: Collection, key: string, json: string): void {
    super.put(collection, key.slice(PLAYER_NAMES.length), json);
    if (collection === 'players.position') this.positions.push(JSON.parse(json));
  }

  override drop(collection: Collection, key: string): void {
    super.drop(collection, key.slice(PLAYER_NAMES.length));
  }

  get names(): readonly string[] {
    const records = this.all<PlayerRecord>('players');
    return records.map(({ bus_name: name }) => name.slice(PLAYER_NAMES.length)).sort();
  }

  record(name: string): PlayerRecord | undefined {
    return this.one('players', name);
  }

  /** Waits until the record satisfies `isSo`, and returns it. */
  until(what: string, name: string, isSo: (record: PlayerRecord) => boolean): Promise<PlayerRecord> {
    return until(what, () => {
      const record = this.record(name);
      return record !== undefined && isSo(record) && record;
    });
  }
}

/** `before`: starts players before the backend. */
export async function followed(
  t: TestContext,
  before: (bus: PrivateBus) => Promise<void> = async () => undefined,
  {
    data,
    clock = systemClock,
    // The time is long enough for a busy machine; tests with a hung player set a shorter one.
    callDeadlineMs = 8_000,
    settings = {},
    isUp = (recorder) => until('the backend is up', () => recorder.published.includes('up')),
  }: {
    data?: string;
    clock?: Clock;
    callDeadlineMs?: number;
    settings?: Partial<Pick<PlayersSettings, 'ignore' | 'exclusive'>>;
    isUp?: (recorder: PlayersRecorder) => Promise<unknown>;
  } = {},
) {
  const bus = await privateBus(t, data);
  await before(bus);
  const recorder = new PlayersRecorder();
  const options = { paths: bus.paths, backoffMs: () => 20, callDeadlineMs };
  const backend = new PlayersBackend(recorder, clock, options, settings);
  t.after(() => backend.stop());
  await isUp(recorder);
  /** A player that is published; without a name of its own it is `scripted`. */
  const start = async (name = 'scripted', properties?: Properties) => {
    const player = await ScriptedPlayer.start(t, bus, name, properties);
    await until(`${name} is published`, () => recorder.record(name) !== undefined);
    return player;
  };
  return { bus, recorder, backend, start };
}

/** For `before`: a hung player that exists before the backend. */
export async function hungPlayer(t: TestContext, bus: PrivateBus): Promise<void> {
  const player = await ScriptedPlayer.connect(t, bus);
  player.misbehaves.set('GetAll', 'hang');
  await player.own('hung');
}

export const named = (name: string): string => PLAYER_NAMES + name;
