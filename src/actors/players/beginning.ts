// Decides when it is certain that one player has begun to play. A reading that says so may be older than a
// signal that has come meanwhile, so a reading that is due then must confirm it.

import type { RepeatedReading } from './repeated-reading.js';

type Readings = Pick<RepeatedReading, 'begun' | 'isSettledSince'>;

export class Beginning {
  /** How many readings had begun when the player began to play; undefined if it has not begun. */
  #begunBefore: number | undefined;

  /** To be called when the player seems to have begun to play. */
  note({ begun }: Readings): void {
    this.#begunBefore = begun;
  }

  /** To be called when the player does not play, or when another one has begun after it. */
  withdraw(): void {
    this.#begunBefore = undefined;
  }

  /** True once for each beginning that is certain. */
  takeCertain(readings: Readings): boolean {
    if (this.#begunBefore === undefined || !readings.isSettledSince(this.#begunBefore)) return false;
    this.#begunBefore = undefined;
    return true;
  }
}
