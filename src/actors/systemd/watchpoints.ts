// Waiting until a unit is in a wanted state, or until it takes too long.

import { type Clock, delay } from '../clock.js';
import type { Row } from './unit-table.js';

interface Watchpoint {
  readonly key: string;
  readonly holds: (row: Row) => boolean;
  readonly reached: () => void;
}

export class Watchpoints {
  readonly #clock: Clock;
  /** Bounded by the runtime, which bounds the commands under way. */
  readonly #waiting = new Set<Watchpoint>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Whether the unit's row came to hold what is wanted within `ms`. */
  async until(row: Row, holds: (row: Row) => boolean, ms: number): Promise<boolean> {
    if (holds(row)) return true;
    const timeout = delay(this.#clock, ms);
    let leave = (): void => undefined;
    const reached = new Promise<true>((resolve) => {
      const point = { key: row.watched.key, holds, reached: () => resolve(true) };
      this.#waiting.add(point);
      leave = () => this.#waiting.delete(point);
    });
    const seen = await Promise.race([reached, timeout.passed.then(() => false)]);
    leave();
    timeout.cancel();
    return seen;
  }

  /** A row has changed. */
  look(row: Row): void {
    for (const { key, holds, reached } of [...this.#waiting]) {
      if (key === row.watched.key && holds(row)) reached();
    }
  }
}
