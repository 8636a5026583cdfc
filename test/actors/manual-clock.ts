// A clock that stands still until a test moves it.

import type { Clock } from '../../src/actors/clock.js';

/** When it was made, to the wall: some time that is not the monotonic one. */
const EPOCH_MS = 1_000_000_000_000;

export class ManualClock implements Clock {
  #now = 0;
  readonly #timers = new Set<{ readonly at: number; readonly callback: () => void }>();

  date(): number {
    return EPOCH_MS + this.#now;
  }

  monotonic(): number {
    return this.#now;
  }

  after(ms: number, callback: () => void): () => void {
    const timer = { at: this.#now + ms, callback };
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  }

  random(): number {
    return 0;
  }

  get waiting(): number {
    return this.#timers.size;
  }

  /** Moves on by `ms`; timers fire in their order. */
  pass(ms: number): void {
    const end = this.#now + ms;
    for (;;) {
      const [next] = [...this.#timers].filter(({ at }) => at <= end).sort((one, other) => one.at - other.at);
      if (next === undefined) break;
      this.#timers.delete(next);
      this.#now = next.at;
      next.callback();
    }
    this.#now = end;
  }
}
