// Decides when group-keeper.ts and listen-keeper.ts do their work. They work shortly after outputs or inputs
// have changed. If the sound server refuses something, they try again a few times.

import { type Clock, Timers } from '../../host/clock.js';

/**
 * The pause between a change and the work. A card or a starting server makes several devices, and the work
 * is to run once for all of them.
 */
const PAUSE_MS = 1_000;
/** Further changes begin the pause anew, but the work begins at most this long after the first change. */
const PAUSE_MAX_MS = 5_000;
/** The pause between a refusal of the server and the next try. */
const RETRY_MS = 5_000;
/**
 * The tries end after this many refusals. They begin again when outputs or inputs change. Before such a
 * change, only a late try is possible (`LATE_RETRY_MS`).
 */
const REFUSALS_MAX = 5;
/**
 * When the tries have ended, a call of `onReading` brings one further try after this pause. group-keeper.ts
 * never calls `onReading`, so its tries begin again only after a change.
 */
const LATE_RETRY_MS = 60_000;

export class KeeperSchedule {
  readonly #clock: Clock;
  readonly #work: () => void;
  readonly #timers: Timers<'work'>;
  /** The number of refusals since the last change or success. */
  #refusals = 0;
  /**
   * The time on the monotonic clock by which the work must begin. Undefined if nothing has changed since the
   * work last began.
   */
  #latestMs: number | undefined;
  #hasEnded = false;

  constructor(clock: Clock, work: () => void) {
    this.#clock = clock;
    this.#work = work;
    this.#timers = new Timers(clock);
  }

  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /** To be called when the connection comes up, and when outputs or inputs have changed. */
  onChange(): void {
    if (this.#hasEnded) return;
    const now = this.#clock.monotonic();
    this.#refusals = 0;
    this.#latestMs ??= now + PAUSE_MAX_MS;
    const leftMs = Math.max(0, this.#latestMs - now);
    this.#workAfter(Math.min(PAUSE_MS, leftMs));
  }

  /**
   * To be called after a reading that finds the outputs and inputs unchanged, such as the reading that comes
   * every minute. The work is needed even then, because a loopback may have gone. After a refusal, this call
   * causes no immediate try. A try makes and removes streams, and this causes a reading. So each immediate
   * try could cause the next one.
   */
  onReading(): void {
    if (this.#refusals === 0) {
      this.onChange();
      return;
    }
    const hasNoMoreTries = this.#refusals >= REFUSALS_MAX && !this.#timers.has('work');
    if (hasNoMoreTries && !this.#hasEnded) this.#workAfter(LATE_RETRY_MS);
  }

  /** To be called when the work has ended without a refusal. */
  onSuccess(): void {
    this.#refusals = 0;
  }

  /** To be called when the server has refused something, or has not answered. */
  onRefusal(): void {
    this.#refusals += 1;
    // `#latestMs` is set if a change came during the work. This change has started the timer already, and
    // the timer brings the next try.
    if (this.#hasEnded || this.#latestMs !== undefined) return;
    if (this.#refusals < REFUSALS_MAX) this.#workAfter(RETRY_MS);
  }

  /** To be called when the connection has ended. */
  end(): void {
    this.#hasEnded = true;
    this.#timers.cancelAll();
  }

  #workAfter(ms: number): void {
    this.#timers.set('work', ms, () => {
      this.#latestMs = undefined;
      this.#work();
    });
  }
}
