// A clock that stands still until a test moves it, and that shows which timers are set.

import type { Clock } from '../src/host/clock.js';

/** When it was made, to the wall: some time that is not the monotonic one. */
const EPOCH_MS = 1_000_000_000_000;

/** Its functions can be handed on without it. */
export class ManualClock implements Clock {
  #now = 0;
  /** How many timers have fired. */
  fired = 0;
  readonly #timers = new Set<{ readonly at: number; readonly callback: () => void }>();

  readonly date = (): number => EPOCH_MS + this.#now;
  readonly monotonic = (): number => this.#now;
  readonly random = (): number => 0;

  readonly after = (ms: number, callback: () => void): (() => void) => {
    const timer = { at: this.#now + ms, callback };
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  };

  /** How many timers are set. */
  get timers(): number {
    return this.#timers.size;
  }

  /** Moves on by `ms`; what falls due meanwhile fires in its order. */
  advance(ms: number): void {
    const end = this.#now + ms;
    for (;;) {
      const [next] = [...this.#timers].filter(({ at }) => at <= end).sort((one, other) => one.at - other.at);
      if (next === undefined) break;
      this.#timers.delete(next);
      this.#now = next.at;
      this.fired += 1;
      next.callback();
    }
    this.#now = end;
  }
}
