// Decides what is published of one player: its record, its tracklist, and its position. The record and the
// tracklist are each published only after a change, and the position only after a jump.

import type { PlayerPosition, PlayerRecord } from '../../protocol/actor/schemas.js';
import type { Publisher } from '../runtime.js';

interface PlayerState {
  readonly record: PlayerRecord;
  /** How often the position has jumped. */
  readonly jumps: number;
  /** The tracklist as JSON; undefined if no tracklist of the player is known. */
  readonly tracksJson: string | undefined;
  /** Returns undefined if the player reports no position. */
  readonly currentPosition: () => PlayerPosition | undefined;
}

interface PublishedState {
  readonly recordJson: string;
  readonly isPlaying: boolean;
  readonly jumps: number;
  readonly tracksJson: string | undefined;
}

export class PlayerPublisher {
  readonly #busName: string;
  readonly #publisher: Pick<Publisher, 'put' | 'drop'>;
  #published: PublishedState | undefined;

  constructor(busName: string, publisher: Pick<Publisher, 'put' | 'drop'>) {
    this.#busName = busName;
    this.#publisher = publisher;
  }

  /** True if the published record says that the player plays. False while no record is published. */
  get isPlaying(): boolean {
    return this.#published?.isPlaying === true;
  }

  publish({ record, jumps, tracksJson, currentPosition }: PlayerState): void {
    const previous = this.#published;
    const recordJson = JSON.stringify(record);
    const isPlaying = record.playback_status === 'Playing';
    this.#published = { recordJson, isPlaying, jumps, tracksJson };
    if (previous?.recordJson !== recordJson) this.#publisher.put('players', this.#busName, recordJson);
    if (previous?.tracksJson !== tracksJson) this.#publishTracks(tracksJson);
    // The first record contains the first position. So this position is not published as a jump.
    const hasJumped = previous !== undefined && previous.jumps !== jumps;
    const position = hasJumped ? currentPosition() : undefined;
    if (position !== undefined)
      this.#publisher.put('players.position', this.#busName, JSON.stringify(position));
  }

  /**
   * To be called when the player has gone, or is found to be playerctld, which only repeats other players.
   */
  drop(): void {
    if (this.#published === undefined) return;
    this.#published = undefined;
    for (const collection of ['players', 'players.position', 'players.tracklist'] as const)
      this.#publisher.drop(collection, this.#busName);
  }

  #publishTracks(tracksJson: string | undefined): void {
    if (tracksJson === undefined) this.#publisher.drop('players.tracklist', this.#busName);
    else this.#publisher.put('players.tracklist', this.#busName, tracksJson);
  }
}
