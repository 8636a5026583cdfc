// Reads a part of a player's state whenever it may have changed: one reading at a time, with a pause between
// two. While the player does not answer, it tries again with back-off. Nothing is polled.

import { backoffMs, type Clock } from '../../host/clock.js';

export class RepeatedReading {
  /** Resolves when the first attempt has ended. */
  readonly first: Promise<void>;
  readonly #clock: Clock;
  readonly #pauseMs: number;
  readonly #read: () => Promise<boolean>;
  #isUnderWay = false;
  #isStale = false;
  #readAt = Number.NEGATIVE_INFINITY;
  #failures = 0;
  /** Callers that wait for the reading under way, and for the next one. */
  #waiting: ((isAnswered: boolean) => void)[] = [];
  #waitingForNext: ((isAnswered: boolean) => void)[] = [];
  #cancel: (() => void) | undefined;
  /** True after `stop`: a reading that ends later is to be ignored. */
  isStopped = false;

  /** `read` resolves to false if there was no answer. It is called once from within the constructor. */
  constructor(clock: Clock, pauseMs: number, read: () => Promise<boolean>) {
    this.#clock = clock;
    this.#pauseMs = pauseMs;
    this.#read = read;
    this.first = this.#readNow();
  }

  /**
   * A change during a reading must cause another reading, because it is unknown which of the two is newer.
   */
  get isUnderWay(): boolean {
    return this.#isUnderWay;
  }

  again(): void {
    this.#isStale = true;
    this.#readAfter(Math.max(0, this.#readAt + this.#pauseMs - this.#clock.monotonic()));
  }

  /**
   * Reads again, and resolves when a reading that began after this call has ended. False if there was no
   * answer.
   */
  next(): Promise<boolean> {
    return new Promise((resolve) => {
      this.#waitingForNext.push(resolve);
      if (this.isStopped) this.#settle(false);
      else this.again();
    });
  }

  /** Attempts without an answer since the last one with an answer. */
  get failures(): number {
    return this.#failures;
  }

  stop(): void {
    this.isStopped = true;
    this.#cancel?.();
    this.#settle(false);
  }

  #readAfter(ms: number): void {
    if (this.#isUnderWay || this.isStopped) return;
    this.#cancel?.();
    this.#cancel = this.#clock.after(ms, () => void this.#readNow());
  }

  async #readNow(): Promise<void> {
    this.#isUnderWay = true;
    this.#isStale = false;
    this.#waiting = this.#waitingForNext;
    this.#waitingForNext = [];
    const isAnswered = await this.#read();
    this.#isUnderWay = false;
    this.#readAt = this.#clock.monotonic();
    this.#failures = isAnswered ? 0 : this.#failures + 1;
    this.#settle(isAnswered);
    if (!isAnswered) this.#readAfter(backoffMs(this.#failures, this.#clock.random()));
    else if (this.#isStale) this.#readAfter(this.#pauseMs);
  }

  /**
   * Resolves the callers that wait for this reading. Without an answer it resolves all callers, because the
   * next attempt may be half a minute away.
   */
  #settle(isAnswered: boolean): void {
    const settled = isAnswered ? this.#waiting : [...this.#waiting, ...this.#waitingForNext];
    this.#waiting = [];
    if (!isAnswered) this.#waitingForNext = [];
    for (const resolve of settled) resolve(isAnswered);
  }
}
