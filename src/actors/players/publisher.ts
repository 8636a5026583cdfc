// Publishes the players: records that differ from what was published before, gathered for a moment, and positions that clients cannot
// extrapolate.

import { type Clock, Timers } from '../../clock.js';
import type { Publisher } from '../runtime.js';
import type { Player } from './player.js';

/** A change of track causes some five signals and a reading, and becomes one event. */
const GATHER_MS = 50;
/** While something plays: how often to check whether the clock was set, by which clients extrapolate. */
const CLOCK_LOOK_MS = 30_000;

interface PublishedTexts {
  readonly text: string;
  readonly jumps: number;
  readonly tracks: string | undefined;
}

export class PlayersPublisher {
  readonly #publish: Pick<Publisher, 'put' | 'drop'>;
  readonly #timers: Timers<'gather' | 'look'>;
  readonly #published = new Map<Player, PublishedTexts>();
  readonly #waiting = new Set<Player>();

  constructor(publish: Pick<Publisher, 'put' | 'drop'>, clock: Clock) {
    this.#publish = publish;
    this.#timers = new Timers(clock);
  }

  changed(player: Player): void {
    this.#waiting.add(player);
    if (!this.#timers.has('gather')) this.#timers.set('gather', GATHER_MS, () => this.publishNow());
  }

  publishNow(): void {
    this.#timers.cancel('gather');
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const player of waiting) this.#publishPlayer(player);
    this.#lookAtClock();
  }

  gone(player: Player): void {
    this.#waiting.delete(player);
    if (!this.#published.delete(player)) return;
    this.#publish.drop('players', player.busName);
    this.#publish.drop('players.position', player.busName);
    this.#publish.drop('players.tracklist', player.busName);
  }

  /** Forgets what was published: leaving `up` has removed all of it. */
  forget(): void {
    this.#timers.cancelAll();
    this.#waiting.clear();
    this.#published.clear();
  }

  /** Publishes playing players again; their texts differ only if the clock was set, because `record` then takes a new anchor. */
  #lookAtClock(): void {
    const playing = [...this.#published.keys()].filter(({ plays }) => plays);
    if (playing.length === 0 || this.#timers.has('look')) return;
    this.#timers.set('look', CLOCK_LOOK_MS, () => {
      for (const player of this.#published.keys()) if (player.plays) this.#publishPlayer(player);
      this.#lookAtClock();
    });
  }

  #publishTracks(busName: string, tracks: string | undefined): void {
    if (tracks === undefined) this.#publish.drop('players.tracklist', busName);
    else this.#publish.put('players.tracklist', busName, tracks);
  }

  #publishPlayer(player: Player): void {
    const { busName, jumps } = player;
    const record = player.record();
    if (record === undefined) return;
    const text = JSON.stringify(record);
    const published = this.#published.get(player);
    const tracks = player.tracklist.reading?.json;
    this.#published.set(player, { text, jumps, tracks });
    if (published?.text !== text) this.#publish.put('players', busName, text);
    if (published?.tracks !== tracks) this.#publishTracks(busName, tracks);
    const position = published === undefined || published.jumps === jumps ? undefined : player.position();
    if (position !== undefined) this.#publish.put('players.position', busName, JSON.stringify(position));
  }
}
