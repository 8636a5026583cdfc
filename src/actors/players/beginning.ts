// Decides when it is certain that one player has begun to play, and which of two players has begun later. A
// reading may be older than a signal that came during the reading. Then another reading is due, and the
// beginning is certain only if that reading confirms it.

import type { RepeatedReading } from './repeated-reading.js';

type Readings = Pick<RepeatedReading, 'begun' | 'isSettledSince'>;

export class Beginning {
  /** How many readings had begun when `note` was called; undefined if no beginning is noted. */
  #readingsBegunBefore: number | undefined;
  /** When the player was first published as playing after `note`; a monotonic time. */
  #publishedAtMs: number | undefined;

  /** To be called when the player seems to have begun to play. */
  note({ begun }: Readings): void {
    this.#readingsBegunBefore = begun;
    this.#publishedAtMs = undefined;
  }

  /** To be called when the player does not play, or when another one has begun after it. */
  withdraw(): void {
    this.#readingsBegunBefore = undefined;
    this.#publishedAtMs = undefined;
  }

  /**
   * To be called when the player is published as playing, at the monotonic time `nowMs`. If it is certain
   * now that the player has begun, returns the time of the first such call, and forgets the beginning. Else
   * returns undefined.
   */
  takeCertain(readings: Readings, nowMs: number): number | undefined {
    if (this.#readingsBegunBefore === undefined) return undefined;
    this.#publishedAtMs ??= nowMs;
    if (!readings.isSettledSince(this.#readingsBegunBefore)) return undefined;
    const publishedAtMs = this.#publishedAtMs;
    this.withdraw();
    return publishedAtMs;
  }

  /** True if the player seems to have begun after this monotonic time. */
  isAfter(timeMs: number): boolean {
    return this.#publishedAtMs !== undefined && this.#publishedAtMs > timeMs;
  }
}
