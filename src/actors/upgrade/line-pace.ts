// How many lines may be taken in at a time, so that no flood fills the main thread's memory or this thread's whole time.
// Pure: the time is an argument.

/** Between two slices the thread does everything else: pings, signals of systemd, commands. */
export const SLICE_MS = 20;
/**
 * 15 000 lines a second: above the 10 000 that a script may be expected to send at worst, and far below the messages per
 * second at which the supervisor takes a thread for mad.
 */
const LINES_PER_SLICE = 300;
/** 6 MB a second: a slice of the longest lines is not much more than one of ordinary ones. */
const BYTES_PER_SLICE = 128 * 1024;

export class LinePace {
  #sliceStart = Number.NEGATIVE_INFINITY;
  #lines = 0;
  #bytes = 0;

  /** Whether another line may be taken at `nowMs` (monotonic). */
  admits(nowMs: number): boolean {
    if (nowMs - this.#sliceStart >= SLICE_MS) {
      this.#sliceStart = nowMs;
      this.#lines = 0;
      this.#bytes = 0;
    }
    return this.#lines < LINES_PER_SLICE && this.#bytes < BYTES_PER_SLICE;
  }

  took(bytes: number): void {
    this.#lines += 1;
    this.#bytes += bytes;
  }
}
