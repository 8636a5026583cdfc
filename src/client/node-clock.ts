// Estimates the time on the node from its events, as its clock may be years away from this device's.

/**
 * An event that arrives later than this, on a connection that has caught up, means that one of the two clocks
 * was set.
 */
const CLOCK_SET_MS = 2000;

export class NodeClock {
  /**
   * Set after a stream's first `love`: events have just happened then; earlier ones may be replayed from
   * while the connection was lost.
   */
  hasCaughtUp = false;
  /**
   * Milliseconds by which this device's clock is ahead of the node's, plus the delay of an event: the
   * smallest difference so far.
   */
  #aheadMs = Number.POSITIVE_INFINITY;

  /** Milliseconds since the epoch; by this device's clock before the first event. */
  now(): number {
    return Date.now() - (Number.isFinite(this.#aheadMs) ? this.#aheadMs : 0);
  }

  /** Takes the time, in milliseconds since the epoch, at which the node sent an event. */
  note(nodeMs: number): void {
    const aheadMs = Date.now() - nodeMs;
    const wasSet = this.hasCaughtUp && aheadMs > this.#aheadMs + CLOCK_SET_MS;
    if (wasSet || aheadMs < this.#aheadMs) this.#aheadMs = aheadMs;
  }

  forget(): void {
    this.#aheadMs = Number.POSITIVE_INFINITY;
  }
}
