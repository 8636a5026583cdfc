// Says how long the service has run, and since which date.

import type { Clock } from '../host/clock.js';

/**
 * The date of the start is computed from two clocks, which are read one after the other. So each computed
 * date differs a little from the last one. Such differences are not reported, because a monitoring system
 * takes each new date for a restart. A difference of this size or more means that the system's date was set.
 */
const CLOCK_SET_MIN_MS = 1_000;

export class StartTime {
  readonly #clock: Pick<Clock, 'date' | 'monotonic'>;
  readonly #startedMonotonicMs: number;
  #reportedStart: number;

  /** The time of this call counts as the start of the service. */
  constructor(clock: Pick<Clock, 'date' | 'monotonic'>) {
    this.#clock = clock;
    this.#startedMonotonicMs = clock.monotonic();
    this.#reportedStart = clock.date();
  }

  uptimeMs(): number {
    return this.#clock.monotonic() - this.#startedMonotonicMs;
  }

  /** Milliseconds since the epoch. The result stays the same until the system's date is set. */
  startedAt(): number {
    const computed = this.#clock.date() - this.uptimeMs();
    if (Math.abs(computed - this.#reportedStart) >= CLOCK_SET_MIN_MS) this.#reportedStart = computed;
    return this.#reportedStart;
  }
}
