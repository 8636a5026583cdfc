// A clock that stands still until a test moves it, and that counts the timers that are set.

import type { Clock } from '../src/host/clock.js';

/** The date of the monotonic time 0, in ms since 1970. */
const EPOCH_MS = 1_000_000_000_000;

/** Each method of `Clock` is bound to this clock, so that the method can be passed alone. */
export class ManualClock implements Clock {
  #now: number;
  #dateShiftMs = 0;
  /** How many timers have fired. */
  fired = 0;
  readonly #timers = new Set<{ readonly dueAt: number; readonly callback: () => void }>();

  constructor(monotonicStartMs = 0) {
    this.#now = monotonicStartMs;
  }

  readonly date = (): number => EPOCH_MS + this.#now + this.#dateShiftMs;
  readonly monotonic = (): number => this.#now;
  readonly random = (): number => 0;

  readonly after = (ms: number, callback: () => void): (() => void) => {
    const timer = { dueAt: this.#now + ms, callback };
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  };

  /** How many timers are set. */
  get timers(): number {
    return this.#timers.size;
  }

  /** Changes the date alone, as a person or NTP does. */
  shiftDate(ms: number): void {
    this.#dateShiftMs += ms;
  }

  /** Moves the time on by `ms`, and fires the timers that fall due meanwhile, the earliest first. */
  advance(ms: number): void {
    const end = this.#now + ms;
    for (;;) {
      const [next] = [...this.#timers].filter(({ dueAt }) => dueAt <= end).sort((a, b) => a.dueAt - b.dueAt);
      if (next === undefined) break;
      this.#timers.delete(next);
      this.#now = next.dueAt;
      this.fired += 1;
      next.callback();
    }
    this.#now = end;
  }
}
