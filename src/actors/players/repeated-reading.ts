// Decides when a part of a player's state is read again: one reading at a time, on request, with a pause
// between two readings. If a reading has no answer, another one follows without a request, after a wait that
// grows with each failure.

import { backoffMs, type Clock } from '../../host/clock.js';

export class RepeatedReading {
  /** Resolves when the first reading has ended, with or without an answer. */
  readonly firstAttempt: Promise<void>;
  readonly #clock: Clock;
  readonly #pauseMs: number;
  readonly #read: () => Promise<boolean>;
  #isUnderWay = false;
  /** True if a reading was requested after the last one began. */
  #isRequested = false;
  /** How many readings have begun. */
  #begunReadings = 0;
  #lastEndedAt = Number.NEGATIVE_INFINITY;
  #failures = 0;
  /** Callers that wait for the reading under way. */
  #waitingForCurrent: ((isAnswered: boolean) => void)[] = [];
  /** Callers that wait for the next reading. */
  #waitingForNext: ((isAnswered: boolean) => void)[] = [];
  #cancelTimer: (() => void) | undefined;
  /** True after `stop`. The caller must ignore a reading that ends later. */
  isStopped = false;

  /**
   * `pauseMs`: the shortest time between two readings. `read` resolves to false if the player did not
   * answer. The constructor calls `read` for the first time.
   */
  constructor(clock: Clock, pauseMs: number, read: () => Promise<boolean>) {
    this.#clock = clock;
    this.#pauseMs = pauseMs;
    this.#read = read;
    this.firstAttempt = this.#readNow();
  }

  /**
   * While this is true, a caller that gets a change of the state must call `request`, because nobody knows
   * whether the change or the reading is newer.
   */
  get isUnderWay(): boolean {
    return this.#isUnderWay;
  }

  /** How many readings have begun, for `isSettledSince`. */
  get begunReadings(): number {
    return this.#begunReadings;
  }

  /**
   * `begunBefore`: the value of `begunReadings` at an earlier moment. True in each of three cases:
   * - A reading that began after that moment has ended.
   * - No reading is under way, and none is requested.
   * - No reading is under way, and the last one failed. The next one may take a whole deadline, which is too
   *   long to wait for.
   */
  isSettledSince(begunBefore: number): boolean {
    // Readings never overlap, so only the last one can still be under way.
    const ended = this.#isUnderWay ? this.#begunReadings - 1 : this.#begunReadings;
    if (ended > begunBefore) return true;
    return !this.#isUnderWay && (!this.#isRequested || this.#failures > 0);
  }

  /** How many readings without an answer have followed the last reading with an answer. */
  get failures(): number {
    return this.#failures;
  }

  /**
   * Causes a reading after the pause, even if the longer wait after a failure has begun. If a reading is
   * under way, another one follows.
   */
  request(): void {
    this.#isRequested = true;
    this.#readAfter(Math.max(0, this.#lastEndedAt + this.#pauseMs - this.#clock.monotonic()));
  }

  /**
   * Resolves to true when a reading that began after this call has had an answer. Resolves to false when the
   * readings are stopped, and after any reading without an answer, even if it began before this call.
   */
  requestAndWait(): Promise<boolean> {
    return new Promise((resolve) => {
      this.#waitingForNext.push(resolve);
      if (this.isStopped) this.#failAll();
      else this.request();
    });
  }

  stop(): void {
    this.isStopped = true;
    this.#cancelTimer?.();
    this.#failAll();
  }

  /** A reading under way plans the next one itself when it ends. */
  #readAfter(ms: number): void {
    if (this.#isUnderWay || this.isStopped) return;
    this.#cancelTimer?.();
    this.#cancelTimer = this.#clock.after(ms, () => void this.#readNow());
  }

  async #readNow(): Promise<void> {
    this.#isUnderWay = true;
    this.#isRequested = false;
    this.#begunReadings += 1;
    this.#waitingForCurrent = this.#waitingForNext;
    this.#waitingForNext = [];
    const isAnswered = await this.#read();
    this.#isUnderWay = false;
    this.#lastEndedAt = this.#clock.monotonic();
    this.#failures = isAnswered ? 0 : this.#failures + 1;
    if (isAnswered) {
      this.#answerCurrent();
      if (this.#isRequested) this.#readAfter(this.#pauseMs);
    } else {
      this.#failAll();
      this.#readAfter(backoffMs(this.#failures, this.#clock.random()));
    }
  }

  #answerCurrent(): void {
    const settled = this.#waitingForCurrent;
    this.#waitingForCurrent = [];
    for (const resolve of settled) resolve(true);
  }

  /**
   * Callers that wait for the next reading get false, too, because this reading may begin as late as half a
   * minute after a failure, and never begins after `stop`.
   */
  #failAll(): void {
    const settled = [...this.#waitingForCurrent, ...this.#waitingForNext];
    this.#waitingForCurrent = [];
    this.#waitingForNext = [];
    for (const resolve of settled) resolve(false);
  }
}
