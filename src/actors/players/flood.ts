// Which connections say more than anybody could follow, so that they are not listened to for a while. Pure: it is told the time.

/** A player that is used says some ten things in a second; each costs this thread a tenth of a millisecond. */
const SIGNALS_MAX = 200;
const WINDOW_MS = 1_000;

export class FloodGauge {
  #since = Number.NEGATIVE_INFINITY;
  #signals = 0;

  /** One more signal, at a monotonic time in ms. True: it is too many of them. */
  isFlood(now: number): boolean {
    if (now - this.#since >= WINDOW_MS) {
      this.#since = now;
      this.#signals = 0;
    }
    this.#signals += 1;
    return this.#signals > SIGNALS_MAX;
  }
}
