// Decides when it is certain that one player has begun to play, and which of two players has begun later.
// A signal may announce the beginning while a reading is under way. This reading may be older than the
// signal, so a second one follows, and the beginning is certain only if the second one confirms it. If one
// of the two fails, the beginning counts as certain, too: no reading is known to be newer than the signal,
// and the next one may come late.

import type { RepeatedReading } from './repeated-reading.js';

type Readings = Pick<RepeatedReading, 'begunReadings' | 'isSettledSince'>;

export class Beginning {
  /** How many readings had begun when `note` was called; undefined if no beginning is noted. */
  #begunReadingsAtNote: number | undefined;
  /** When the player was first published as playing after `note`; a monotonic time. */
  #publishedAtMs: number | undefined;

  /** To be called when the player seems to have begun to play. */
  note({ begunReadings }: Readings): void {
    this.#begunReadingsAtNote = begunReadings;
    this.#publishedAtMs = undefined;
  }

  /**
   * To be called when the player does not play, or when another one has begun after it. Otherwise this
   * beginning could become certain later, and the backend would then silence the other player.
   */
  withdraw(): void {
    this.#begunReadingsAtNote = undefined;
    this.#publishedAtMs = undefined;
  }

  /**
   * To be called whenever the player is published as playing, at the monotonic time `nowMs`. Returns
   * undefined until it is certain that the player has begun. Then it returns the time of the first call
   * since `note`, and forgets the beginning.
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
