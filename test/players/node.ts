// Starts a daemon on a session with real players, and one client that reads the daemon's event stream from
// the start.

import assert from 'node:assert/strict';
import type { PlayerRecord } from '../../src/protocol/actor/schemas.js';
import { Daemon } from '../contract/daemon.js';
import type { Requirements } from '../tools/requirements.js';
import { until } from '../until.js';
import { MPRIS_OF_MPV } from './mpv.js';
import type { Session } from './session.js';

/** The requirements of a test that plays with mpv and cmus, and perhaps needs further programs. */
export function playersAnd(...furtherPrograms: readonly string[]): Requirements {
  return {
    programs: ['pulseaudio', 'pactl', 'dbus-daemon', 'mpv', 'cmus', 'script', ...furtherPrograms],
    packages: MPRIS_OF_MPV,
  };
}

/**
 * The position in microseconds that a client computes from the record (docs/players.md, "Positions"). `atMs`
 * is the time in milliseconds since the epoch.
 */
export function reckoned(player: PlayerRecord, atMs: number): number {
  const sinceMs = player.playback_status === 'Playing' ? atMs - Date.parse(player.position_updated_at) : 0;
  return (player.position ?? Number.NaN) + sinceMs * 1000 * (player.rate ?? 1);
}

export type PlayersNode = Awaited<ReturnType<typeof startPlayersNode>>;

export async function startPlayersNode(session: Session) {
  const config = 'systemd: {enabled: false}\nplayers: {enabled: true}\n';
  const daemon = await Daemon.start({ env: session.env, config });
  await daemon.untilBackend('players', 'up');
  const stream = await daemon.events('?snapshot=1');
  const players = (): Promise<readonly PlayerRecord[]> => daemon.read('/players');
  return {
    session,
    daemon,
    stream,
    players,
    /**
     * Waits until the player with this bus name is listed, and `isExpected` is true for it. `what` says in
     * words what is expected.
     */
    player: (name: string, what = 'listed', isExpected: (now: PlayerRecord) => boolean = () => true) =>
      until(`${name} is ${what}`, async () =>
        (await players()).find((player) => player.bus_name === name && isExpected(player)),
      ),
    /** POSTs to a player and demands a 202 with an empty body. */
    change: async (player: string, command: string, body?: unknown): Promise<void> => {
      const path = `/players/${encodeURIComponent(player)}/${command}`;
      const answer = await daemon.post(path, body);
      assert.deepEqual([answer.status, answer.text], [202, ''], `POST ${path}`);
    },
    /** Waits until the players that the stream's events describe are those that `GET /players` lists. */
    streamAgrees: () =>
      until('the stream has the state of the players', async () => {
        const listed = new Map((await players()).map((player) => [player.bus_name, player]));
        assert.deepEqual(stream.model.known.players, listed);
        return true;
      }),
    stop: async (): Promise<void> => {
      await daemon.stop();
      await session.stop();
    },
  };
}
