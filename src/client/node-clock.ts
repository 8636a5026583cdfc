// Estimates the node's time from its answers and events, because the node's clock may be years away from the
// clock of this device.

/**
 * If the delay of a new event seems this much longer than the shortest delay, the clock of the node or of
 * this device was set.
 */
const CLOCK_SET_MS = 2000;

export class NodeClock {
  /**
   * True after a stream's first `love`, a sign of life that the node sends only after a silence. Events
   * before this `love` may arrive late, for example behind a long snapshot. So only events after it can show
   * that a clock was set.
   */
  hasCaughtUp = false;
  /**
   * How far this device's clock is ahead of the node's: an event's time of arrival here, minus its time of
   * sending there. The difference contains the delay of the event, so the smallest difference counts.
   * Undefined before the first event.
   */
  #aheadMs: number | undefined;
  /**
   * The same difference, calculated from the header `Date` of the answer that began the newest stream. The
   * header has whole seconds. Without this header, the difference counts as 0.
   */
  #answerAheadMs = 0;

  /** The node's time in milliseconds since the epoch. Before the first event, it comes from the header. */
  now(): number {
    return Date.now() - (this.#aheadMs ?? this.#answerAheadMs);
  }

  /** `sentAtMs`: when the node sent the answer, by its own clock. NaN if the answer has no time. */
  noteAnswer(sentAtMs: number): void {
    this.#answerAheadMs = Date.now() - sentAtMs || 0;
  }

  /** `sentAtMs`: when the node sent the event, by its own clock. */
  noteEvent(sentAtMs: number): void {
    const aheadMs = Date.now() - sentAtMs;
    const smallestMs = this.#aheadMs ?? aheadMs;
    const wasClockSet = this.hasCaughtUp && aheadMs > smallestMs + CLOCK_SET_MS;
    if (wasClockSet || aheadMs <= smallestMs) this.#aheadMs = aheadMs;
  }

  /** Forgets the events' times. The header's time stays, because an open stream gets no second header. */
  forget(): void {
    this.#aheadMs = undefined;
  }
}
