// Counts what is still to come, and waits until nothing is, within a deadline. It knows not what it counts. Pure.

import type { Clock } from '../clock.js';

export class PendingCount {
  #count = 0;
  readonly #waiting = new Set<() => void>();

  up(): void {
    this.#count += 1;
  }

  /** Once for each `up`. */
  down(): void {
    this.#count -= 1;
    if (this.#count > 0) return;
    for (const settle of this.#waiting) settle();
  }

  /** Resolves when nothing is pending, at the latest after `deadlineMs`. Never rejects. */
  none(deadlineMs: number, clock: Clock): Promise<void> {
    if (this.#count === 0) return Promise.resolve();
    return new Promise((resolve) => {
      const settle = (): void => {
        cancel();
        this.#waiting.delete(settle);
        resolve();
      };
      const cancel = clock.after(deadlineMs, settle);
      this.#waiting.add(settle);
    });
  }
}
