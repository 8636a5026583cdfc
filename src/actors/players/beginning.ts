// Decides when it is certain that a player has begun to play, and whether it has begun after another player.
// A signal may announce the beginning while a reading of the player is under way. This reading may be older
// than the signal. So the beginning is certain only when a reading that begins after the signal confirms that
// the player plays. If a reading fails before that, the beginning counts as certain, too, because the next
// reading may come late.

import type { RepeatedReading } from './repeated-reading.js';

type Readings = Pick<RepeatedReading, 'begunReadings' | 'isSettledSince'>;

export class Beginning {
  /** How many readings had begun when `note` was called; undefined if no beginning is noted. */
  #begunReadingsAtNote: number | undefined;
  /** The monotonic time when the player was first published as playing after `note`. */
  #publishedAtMs: number | undefined;

  /** To be called when the player seems to have begun to play. */
  note({ begunReadings }: Readings): void {
    this.#begunReadingsAtNote = begunReadings;
    this.#publishedAtMs = undefined;
  }

  /**
   * To be called when the player does not play, or when another player has begun later. Otherwise this
   * beginning could still become certain, and the backend would then silence the other player.
   */
  withdraw(): void {
    this.#begunReadingsAtNote = undefined;
    this.#publishedAtMs = undefined;
  }

  /**
   * To be called whenever the player is published as playing, at the monotonic time `nowMs`. Returns
   * undefined until it is certain that the player has begun. Then returns the `nowMs` of the first call since
   * `note`, and forgets the beginning.
   */
  takeCertain(readings: Readings, nowMs: number): number | undefined {
    if (this.#begunReadingsAtNote === undefined) return undefined;
    this.#publishedAtMs ??= nowMs;
    if (!readings.isSettledSince(this.#begunReadingsAtNote)) return undefined;
    const publishedAtMs = this.#publishedAtMs;
    this.withdraw();
    return publishedAtMs;
  }

  /** True if the player seems to have begun after this monotonic time. */
  isAfter(timeMs: number): boolean {
    return this.#publishedAtMs !== undefined && this.#publishedAtMs > timeMs;
  }
}
