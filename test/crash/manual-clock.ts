// A clock that the test turns by hand, and that shows which timers are set.

import type { Clock } from '../../src/supervisor/clock.js';

interface Timer {
  readonly at: number;
  readonly action: () => void;
}

export class ManualClock implements Clock {
  readonly #timers = new Set<Timer>();
  #now = 0;

  monotonic(): number {
    return this.#now;
  }

  date(): number {
    return this.#now;
  }

  after(ms: number, action: () => void): () => void {
    const timer = { at: this.#now + ms, action };
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  }

  /** How many timers are set. */
  get armed(): number {
    return this.#timers.size;
  }

  /** Lets time pass; what falls due meanwhile is run in its order. */
  advance(ms: number): void {
    const end = this.#now + ms;
    for (;;) {
      const [next] = [...this.#timers].filter(({ at }) => at <= end).sort((a, b) => a.at - b.at);
      if (next === undefined) break;
      this.#timers.delete(next);
      this.#now = next.at;
      next.action();
    }
    this.#now = end;
  }
}
