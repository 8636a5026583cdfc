// Publishes one player: its record, its tracklist, and positions that clients cannot extrapolate, each only
// where it differs from what was published before.

import type { PlayerPosition, PlayerRecord } from '../../protocol/actor/schemas.js';
import type { Publisher } from '../runtime.js';

interface PlayerState {
  readonly record: PlayerRecord;
  /** How often the position has jumped. */
  readonly jumps: number;
  /** The tracklist as JSON; undefined if the player has none. */
  readonly tracks: string | undefined;
  /** Undefined if the player reports none. */
  readonly position: () => PlayerPosition | undefined;
}

export class PlayerPublisher {
  readonly #busName: string;
  readonly #publish: Pick<Publisher, 'put' | 'drop'>;
  #published: { text: string; isPlaying: boolean; jumps: number; tracks: string | undefined } | undefined;

  constructor(busName: string, publish: Pick<Publisher, 'put' | 'drop'>) {
    this.#busName = busName;
    this.#publish = publish;
  }

  /** True if the player plays by the newest record. */
  get isPlaying(): boolean {
    return this.#published?.isPlaying === true;
  }

  publish({ record, jumps, tracks, position }: PlayerState): void {
    const before = this.#published;
    const text = JSON.stringify(record);
    this.#published = { text, isPlaying: record.playback_status === 'Playing', jumps, tracks };
    if (before?.text !== text) this.#publish.put('players', this.#busName, text);
    if (before?.tracks !== tracks) this.#publishTracks(tracks);
    const jumped = before === undefined || before.jumps === jumps ? undefined : position();
    if (jumped !== undefined) this.#publish.put('players.position', this.#busName, JSON.stringify(jumped));
  }

  drop(): void {
    if (this.#published === undefined) return;
    for (const collection of ['players', 'players.position', 'players.tracklist'] as const)
      this.#publish.drop(collection, this.#busName);
  }

  #publishTracks(tracks: string | undefined): void {
    if (tracks === undefined) this.#publish.drop('players.tracklist', this.#busName);
    else this.#publish.put('players.tracklist', this.#busName, tracks);
  }
}
