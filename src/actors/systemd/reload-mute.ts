// When a manager reloads, its units seem to go and to come again: nothing is told until they have been read again. Pure.

/** After the last of a storm of reloads. */
const QUIET_MS = 50;
/** A storm that lasts longer is no reason to tell nothing. */
const STORM_MAX_MS = 5_000;

export class ReloadMute {
  #reloading = false;
  /** Since when nothing was told; undefined when everything is. */
  #since: number | undefined;

  /** Between the manager's two words: what it says of units going is not so. */
  get reloading(): boolean {
    return this.#reloading;
  }

  get muted(): boolean {
    return this.#since !== undefined;
  }

  begins(now: number): void {
    this.#reloading = true;
    this.#since ??= now;
  }

  /** Gives how long to wait, in ms, before all is read again. */
  ends(now: number): number {
    this.#reloading = false;
    this.#since ??= now;
    return now - this.#since > STORM_MAX_MS ? 0 : QUIET_MS;
  }

  /** Everything has been read: whether it may be told. If the next reload has begun, only in a storm that lasts. */
  hasRead(now: number): boolean {
    if (this.#since === undefined) return true;
    const tell = !this.#reloading || now - this.#since > STORM_MAX_MS;
    if (tell) this.#since = this.#reloading ? now : undefined;
    return tell;
  }

  /** The manager is gone, or its word cannot be waited for any longer. */
  forget(): void {
    this.#reloading = false;
  }

  lift(): void {
    this.#since = undefined;
  }
}
