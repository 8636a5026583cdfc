// Estimates the node's time from its events, because its clock may be years away from this device's.

/**
 * An event that is not replayed may seem to have been on the way for this much longer than the fastest one.
 * In this case one of the two clocks was set.
 */
const CLOCK_SET_MS = 2000;

export class NodeClock {
  /**
   * True after a stream's first `love`, the node's sign of life. Each later event was sent just now. Earlier
   * events may be replays from the time when the connection was lost.
   */
  hasCaughtUp = false;
  /**
   * By how many milliseconds this device's clock is ahead of the node's. The estimate is an event's time of
   * arrival here minus its time of sending there, which also contains the delay. The smallest such
   * difference counts, because it contains the shortest delay.
   */
  #aheadMs = Number.POSITIVE_INFINITY;

  /** Milliseconds since the epoch; by this device's clock before the first event. */
  now(): number {
    return Date.now() - (Number.isFinite(this.#aheadMs) ? this.#aheadMs : 0);
  }

  /** Takes the time, in milliseconds since the epoch, at which the node sent an event. */
  noteEvent(nodeMs: number): void {
    const aheadMs = Date.now() - nodeMs;
    const wasSet = this.hasCaughtUp && aheadMs > this.#aheadMs + CLOCK_SET_MS;
    if (wasSet || aheadMs < this.#aheadMs) this.#aheadMs = aheadMs;
  }

  forget(): void {
    this.#aheadMs = Number.POSITIVE_INFINITY;
  }
}
