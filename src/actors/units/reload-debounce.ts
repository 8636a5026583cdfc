// When a manager reloads, its units seem to go and to come again: nothing is told until they have been read again. Reloads that
// follow one another are debounced, with a longest wait.

import { type Clock, Timers } from '../../clock.js';

/** After the last of a storm of reloads. */
const QUIET_MS = 50;
/** A storm that lasts longer is no reason to tell nothing. */
const STORM_MAX_MS = 5_000;
/** If the end of a reload is never told. */
const RELOAD_MAX_MS = 30_000;

export class ReloadDebounce {
  readonly #clock: Clock;
  readonly #over: () => void;
  readonly #timers: Timers<'end' | 'quiet'>;
  #reloading = false;
  /** Since when nothing was told; undefined when everything is. */
  #since: number | undefined;

  /** `over`: all is to be read again, and then `hasRead` to be asked. */
  constructor(clock: Clock, over: () => void) {
    this.#clock = clock;
    this.#over = over;
    this.#timers = new Timers(clock);
  }

  /** Between the manager's two words: what it says of units going is not so. */
  get reloading(): boolean {
    return this.#reloading;
  }

  /** What is known now may be a reload's appearance. */
  get muted(): boolean {
    return this.#since !== undefined;
  }

  /** The manager's signal: a reload begins, or ends. */
  heard(begins: boolean): void {
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

  /** Everything has been read: whether it may be told. If the next reload has begun, only in a storm that lasts. */
  hasRead(): boolean {
    if (this.#timers.has('quiet')) return false;
    const now = this.#clock.monotonic();
    if (this.#since === undefined) return true;
    const tell = !this.#reloading || now - this.#since > STORM_MAX_MS;
    if (tell) this.#since = this.#reloading ? now : undefined;
    return tell;
  }

  /** The manager is another one: the end of its reload will not be told. */
  forget(): void {
    this.#reloading = false;
  }

  /** All was read anew: what it shows is so, unless the next reload has begun. */
  lift(): void {
    if (!this.#reloading) this.#since = undefined;
  }

  /** The manager is away. */
  cancel(): void {
    this.#timers.cancelAll();
    this.forget();
    this.lift();
  }
}
