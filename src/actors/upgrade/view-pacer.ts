// How often the answer of `GET /upgrade` is put together anew: the whole of it is encoded each time.

import type { Clock } from '../clock.js';

/** Between two changes of percent or step that the answer shows. */
const VIEW_INTERVAL_MS = 100;

export class ViewPacer {
  readonly #clock: Clock;
  readonly #put: () => void;
  /** There while a change would come too soon behind the last. */
  #cancel: (() => void) | undefined;
  #stale = false;

  constructor(clock: Clock, put: () => void) {
    this.#clock = clock;
    this.#put = put;
  }

  /** Something changed that may be shown a moment later: the first change is put at once, the others of a burst together. */
  soon(): void {
    if (this.#cancel === undefined) this.now();
    else this.#stale = true;
  }

  now(): void {
    this.#stale = false;
    this.#put();
    this.#cancel ??= this.#clock.after(VIEW_INTERVAL_MS, () => {
      this.#cancel = undefined;
      if (this.#stale) this.now();
    });
  }

  /** What was to be put is forgotten. */
  stop(): void {
    this.#cancel?.();
    this.#cancel = undefined;
    this.#stale = false;
  }
}
