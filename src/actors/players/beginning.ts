// Decides when it is certain that one player has begun to play, and which of two players has begun later. A
// reading that says that a player plays may be older than a signal that has come meanwhile, so a reading that
// is due then must confirm it.

import type { RepeatedReading } from './repeated-reading.js';

type Readings = Pick<RepeatedReading, 'begun' | 'isSettledSince'>;

export class Beginning {
  /** How many readings had begun when the player began to play; undefined if it has not begun. */
  #begunBefore: number | undefined;
  /** When the player was first published as playing; a monotonic time. */
  #publishedAtMs: number | undefined;

  /** To be called when the player seems to have begun to play. */
  note({ begun }: Readings): void {
    this.#begunBefore = begun;
    this.#publishedAtMs = undefined;
  }

  /** To be called when the player does not play, or when another one has begun after it. */
  withdraw(): void {
    this.#begunBefore = undefined;
    this.#publishedAtMs = undefined;
  }

  /**
   * To be called when the player is published as playing, at the monotonic time `nowMs`. If it is certain
   * now that the player has begun, returns the time of the first such call, and forgets the beginning. Else
   * returns undefined.
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
