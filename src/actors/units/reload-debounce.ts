// While a manager reloads, its units seem to disappear and come back: nothing is published until they have been read again. Reloads in
// quick succession are debounced, up to a maximum wait.

import { type Clock, Timers } from '../../clock.js';

/** Quiet time after a storm of reloads. */
const QUIET_MS = 50;
/** In a longer storm, changes are published in between. */
const STORM_MAX_MS = 5_000;
/** Timeout for a reload's end that is never signalled. */
const RELOAD_MAX_MS = 30_000;

export class ReloadDebounce {
  readonly #clock: Clock;
  readonly #over: () => void;
  readonly #timers: Timers<'end' | 'quiet'>;
  #reloading = false;
  /** Since when changes are held back; undefined if they are not. */
  #since: number | undefined;

  /** `over` must read everything again and then call `hasRead`. */
  constructor(clock: Clock, over: () => void) {
    this.#clock = clock;
    this.#over = over;
    this.#timers = new Timers(clock);
  }

  /** True between the begin and end signals: removals of units in between are not real. */
  get reloading(): boolean {
    return this.#reloading;
  }

  /** True if the present facts may be an effect of a reload. */
  get muted(): boolean {
    return this.#since !== undefined;
  }

  onReloading(begins: boolean): void {
    const now = this.#clock.monotonic();
    this.#timers.cancelAll();
    this.#reloading = begins;
    this.#since ??= now;
    if (begins) {
      this.#timers.set('end', RELOAD_MAX_MS, () => {
        this.forget();
        this.#over();
      });
    } else this.#timers.set('quiet', now - this.#since > STORM_MAX_MS ? 0 : QUIET_MS, this.#over);
  }

  /** Everything has been read: true if it may be published. After the next reload has begun, only in a long storm. */
  hasRead(): boolean {
    if (this.#timers.has('quiet')) return false;
    const now = this.#clock.monotonic();
    if (this.#since === undefined) return true;
    const isNews = !this.#reloading || now - this.#since > STORM_MAX_MS;
    if (isNews) this.#since = this.#reloading ? now : undefined;
    return isNews;
  }

  /** There is another manager, which will not signal the end of the old one's reload. */
  forget(): void {
    this.#reloading = false;
  }

  /** Everything was read anew, so the facts are valid, unless the next reload has begun. */
  lift(): void {
    if (!this.#reloading) this.#since = undefined;
  }

  cancel(): void {
    this.#timers.cancelAll();
    this.forget();
    this.lift();
  }
}
