// A clock that moves when told, and the timers on it.

import type { Schedule } from '../../../src/gateway/events/keepalive.js';

export class ManualClock {
  #now = 1000;
  /** How many timers have fired. */
  fired = 0;
  readonly #timers = new Set<{ readonly at: number; readonly callback: () => void }>();

  readonly monotonic = (): number => this.#now;

  readonly schedule: Schedule = (delayMs, callback) => {
    const timer = { at: this.#now + delayMs, callback };
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  };

  get timers(): number {
    return this.#timers.size;
  }

  advance(ms: number): void {
    const end = this.#now + ms;
    for (;;) {
      const due = [...this.#timers].filter(({ at }) => at <= end).sort((one, other) => one.at - other.at)[0];
      if (due === undefined) break;
      this.#timers.delete(due);
      this.#now = Math.max(this.#now, due.at);
      this.fired += 1;
      due.callback();
    }
    this.#now = end;
  }
}
