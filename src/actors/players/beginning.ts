// Decides when it is certain that one player has begun to play, and which of two players has begun later.
// If a signal comes during a reading, the reading may have the state from before the signal. Then another
// reading is due, and the beginning is certain only if that reading confirms it. If that reading fails, the
// beginning counts as certain, too: the signal is then the newest fact, and the next reading may be late.

import type { RepeatedReading } from './repeated-reading.js';

type Readings = Pick<RepeatedReading, 'begunReadings' | 'isSettledSince'>;

export class Beginning {
  /** How many readings had begun when `note` was called; undefined if no beginning is noted. */
  #begunBefore: number | undefined;
  /** When the player was first published as playing after `note`; a monotonic time. */
  #publishedAtMs: number | undefined;

  /** To be called when the player seems to have begun to play. */
  note({ begunReadings }: Readings): void {
    this.#begunBefore = begunReadings;
    this.#publishedAtMs = undefined;
  }

  /** To be called when the player does not play, or when another one has begun after it. */
  withdraw(): void {
    this.#begunBefore = undefined;
    this.#publishedAtMs = undefined;
  }

  /**
   * To be called whenever the player is published as playing, at the monotonic time `nowMs`. Returns
   * undefined until it is certain that the player has begun. Then it returns the time of the first call
   * since `note`, and forgets the beginning.
   */
  takeCertain(readings: Readings, nowMs: number): number | undefined {
    if (this.#begunBefore === undefined) return undefined;
    this.#publishedAtMs ??= nowMs;
    if (!readings.isSettledSince(this.#begunBefore)) return undefined;
    const publishedAtMs = this.#publishedAtMs;
    this.withdraw();
    return publishedAtMs;
  }

  /** True if the player seems to have begun after this monotonic time. */
  isAfter(timeMs: number): boolean {
    return this.#publishedAtMs !== undefined && this.#publishedAtMs > timeMs;
  }
}
