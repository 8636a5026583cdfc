// Estimates the time on the node from its events, as its clock may be years away from this device's.

/**
 * If an event seems to have been on the way for this much longer than the fastest one, and is not an old one
 * that is replayed, one of the two clocks was set.
 */
const CLOCK_SET_MS = 2000;

export class NodeClock {
  /**
   * True after a stream's first `love`, the node's sign of life: each event after it was sent just now.
   * Events before it may be old, and replayed, because the connection was lost when they were sent.
   */
  hasCaughtUp = false;
  /**
   * Milliseconds between an event's time of arrival by this device's clock, and its time of sending by the
   * node's: the smallest such difference so far, as it contains the shortest delay.
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
