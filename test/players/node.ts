// A daemon on a session with real players, and one consumer of its stream that has watched from the start.

import assert from 'node:assert/strict';
import type { PlayerRecord } from '../../src/protocol/actor/schemas.js';
import type { EventConsumer } from '../consumer/consumer.js';
import { Daemon } from '../contract/daemon.js';
import { until } from '../until.js';
import type { Session } from './session.js';

export const PLAYER_PROGRAMS = ['pulseaudio', 'pactl', 'dbus-daemon', 'mpv', 'cmus', 'script'];

/** Where a client takes the player to be (docs/players.md, "Positions") at a time in milliseconds since the epoch. */
export function reckoned(player: PlayerRecord, atMs: number): number {
  const sinceMs = player.playback_status === 'Playing' ? atMs - Date.parse(player.position_updated_at) : 0;
  return (player.position ?? Number.NaN) + sinceMs * 1000 * (player.rate ?? 1);
}

export class PlayersNode {
  readonly session: Session;
  readonly daemon: Daemon;
  readonly stream: EventConsumer;

  private constructor(session: Session, daemon: Daemon, stream: EventConsumer) {
    this.session = session;
    this.daemon = daemon;
    this.stream = stream;
  }

  /** `more`: further sections of the configuration, in YAML. */
  static async start(session: Session, more = ''): Promise<PlayersNode> {
    const config = `systemd: {enabled: false}\nplayers: {enabled: true}\n${more}`;
    const daemon = await Daemon.start({ env: session.env, config });
    await daemon.backend('players', 'up');
    return new PlayersNode(session, daemon, await daemon.events('?snapshot=1'));
  }

  players(): Promise<readonly PlayerRecord[]> {
    return this.daemon.read('/players');
  }

  /** Waits until the player of that bus name is listed and is as `condition` wants it. */
  player(
    busName: string,
    what = 'listed',
    condition: (player: PlayerRecord) => boolean = () => true,
  ): Promise<PlayerRecord> {
    return until(`${busName} is ${what}`, async () => {
      const found = (await this.players()).find(({ bus_name }) => bus_name === busName);
      return found !== undefined && condition(found) && found;
    });
  }

  /** POSTs to a player and demands a 202 with an empty body. */
  async change(player: string, command: string, body?: unknown): Promise<void> {
    const path = `/players/${encodeURIComponent(player)}/${command}`;
    const answer = await this.daemon.post(path, body);
    assert.deepEqual([answer.status, answer.text], [202, ''], `POST ${path}`);
  }

  /** Waits until the state from the stream's events equals the route's. */
  async streamTellsTheTruth(): Promise<void> {
    await until('the stream has the state of the players', async () => {
      const players = new Map((await this.players()).map((player) => [player.bus_name, player]));
      assert.deepEqual(this.stream.model.held.players, players);
      return true;
    });
  }

  async stop(): Promise<void> {
    await this.daemon.stop();
    await this.session.stop();
  }
}
