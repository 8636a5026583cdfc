// When that which is kept in the sound server is looked after: once nothing has come or gone for a while, and
// again some times after a refusal.

import { type Clock, Timers } from '../../host/clock.js';

/** The calm after something has come or gone: a server that starts, or a card, makes several at once. */
const CALM_MS = 1_000;
/** Things that come and go without end delay the work by this at most. */
const CALM_MAX_MS = 5_000;
/** The pause after a refusal of the server, and the tries until something comes or goes again. */
const AGAIN_MS = 5_000;
const TRIES_MAX = 5;

export class KeepPace {
  readonly #clock: Clock;
  readonly #keep: () => void;
  readonly #timers: Timers<'keep'>;
  #tries = 0;
  /** When it is done at the latest, on the monotonic clock; undefined while nothing has come or gone. */
  #latest: number | undefined;
  #hasEnded = false;

  constructor(clock: Clock, keep: () => void) {
    this.#clock = clock;
    this.#keep = keep;
    this.#timers = new Timers(clock);
  }

  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /** To be called when something has come or gone, and at first. */
  follow(): void {
    if (this.#hasEnded) return;
    const now = this.#clock.monotonic();
    this.#tries = 0;
    this.#latest ??= now + CALM_MAX_MS;
    this.#keepAfter(Math.min(CALM_MS, Math.max(0, this.#latest - now)));
  }

  /** To be called when the server has refused something, or has not answered. */
  tryAgain(): void {
    if (this.#hasEnded) return;
    this.#tries += 1;
    if (this.#tries < TRIES_MAX) this.#keepAfter(AGAIN_MS);
  }

  /** To be called when the connection has ended. */
  end(): void {
    this.#hasEnded = true;
    this.#timers.cancelAll();
  }

  #keepAfter(ms: number): void {
    this.#timers.set('keep', ms, () => {
      this.#latest = undefined;
      this.#keep();
    });
  }
}
