// While a manager reloads, its units seem to disappear and come back: nothing is published until they have been read again, once after
// reloads in quick succession.

import { type Clock, Timers } from '../../clock.js';

/** Quiet time after a storm of reloads. */
const QUIET_MS = 50;
/** Timeout for a reload's end that is never signalled. */
const RELOAD_MAX_MS = 30_000;

export class ReloadDebounce {
  readonly #timers: Timers<'over'>;
  readonly #over: () => void;
  #reloading = false;
  #muted = false;

  /** `over` must read everything again and then call `hasRead`. */
  constructor(clock: Clock, over: () => void) {
    this.#timers = new Timers(clock);
    this.#over = over;
  }

  /** True between the begin and end signals: removals of units in between are not real. */
  get reloading(): boolean {
    return this.#reloading;
  }

  /** True if the present facts may be an effect of a reload. */
  get muted(): boolean {
    return this.#muted;
  }

  onReloading(begins: boolean): void {
    this.#reloading = begins;
    this.#muted = true;
    this.#timers.set('over', begins ? RELOAD_MAX_MS : QUIET_MS, () => {
      this.#reloading = false;
      this.#over();
    });
  }

  /** Everything has been read: true if it may be published, because the next reload has not begun. */
  hasRead(): boolean {
    this.#muted = this.#timers.has('over');
    return !this.#muted;
  }

  /** There is another manager, or none: it will not signal the end of the old one's reload. */
  cancel(): void {
    this.#timers.cancelAll();
    this.#reloading = false;
    this.#muted = false;
  }
}
