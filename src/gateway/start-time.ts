// Says how long the service has run, and since which date.

import type { Clock } from '../host/clock.js';

/**
 * The clock was set if the start moves by this or more. It always moves a little, because two clocks are read
 * one after the other. For a monitor, a start that moves is a restart.
 */
const CLOCK_SET_MIN_MS = 1_000;

export class StartTime {
  readonly #clock: Pick<Clock, 'date' | 'monotonic'>;
  readonly #startedMonotonicMs: number;
  #startedAt: number;

  /** The service starts now. */
  constructor(clock: Pick<Clock, 'date' | 'monotonic'>) {
    this.#clock = clock;
    this.#startedMonotonicMs = clock.monotonic();
    this.#startedAt = clock.date();
  }

  uptimeMs(): number {
    return this.#clock.monotonic() - this.#startedMonotonicMs;
  }

  /** Milliseconds since the epoch. It stays the same until the clock is set. */
  startedAt(): number {
    const startedAt = this.#clock.date() - this.uptimeMs();
    if (Math.abs(startedAt - this.#startedAt) >= CLOCK_SET_MIN_MS) this.#startedAt = startedAt;
    return this.#startedAt;
  }
}
