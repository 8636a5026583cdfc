// Bounds what one actor may say: its messages queue in the main thread's memory, where nothing else limits them.
// Pure: the time is an argument.

const WINDOW_MS = 1000;
/** An audio storm of 1000 changes a second is far below; a thread that loops over `publish` reaches it within the window. */
export const ITEMS_PER_WINDOW_MAX = 50_000;

/** Counts one thread's items. Times are monotonic ms. */
export class FloodGauge {
  #windowStart = Number.NEGATIVE_INFINITY;
  #items = 0;

  /** False when with these `count` items the thread said more than it may within a second. */
  admits(count: number, now: number): boolean {
    if (now - this.#windowStart >= WINDOW_MS) {
      this.#windowStart = now;
      this.#items = 0;
    }
    this.#items += count;
    return this.#items <= ITEMS_PER_WINDOW_MAX;
  }
}
