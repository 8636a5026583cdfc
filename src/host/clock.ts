// Defines the clock that all parts get as an argument, and helpers for time: bounded waits, named timers,
// rate limits, and the delays before reconnecting. Other files that use the system's clock or timers are
// listed as `EDGES` in test/architecture/boundaries.ts.

const { hrtime } = process;

export interface Clock {
  /**
   * Milliseconds since the epoch. Use it only for dates that leave the process, in answers, events or files.
   * It may jump by years when a node whose clock has no battery gets the date from the network.
   */
  date(): number;
  /**
   * Milliseconds since an unspecified moment, which is the same in all threads. Use it for waiting and
   * measuring, because it never goes back.
   */
  monotonic(): number;
  /** Calls `callback` once after `ms` milliseconds; the returned function cancels it. */
  after(ms: number, callback: () => void): () => void;
  /** Returns a number that is at least 0 and less than 1. */
  random(): number;
}

/**
 * Returns milliseconds. `performance.now()` is not used, because it takes more time: at each call it gets a
 * global object and checks this object.
 */
export function monotonic(): number {
  const [s, ns] = hrtime();
  return s * 1000 + ns / 1e6;
}

export const systemClock: Clock = {
  date: () => Date.now(),
  monotonic,
  after: (ms, callback) => {
    const timer = setTimeout(callback, ms);
    return () => clearTimeout(timer);
  },
  random: () => Math.random(),
};

/** Resolves with undefined if the promise takes longer than `ms`. The promise's later result is ignored. */
export async function within<T>(clock: Clock, ms: number, promise: Promise<T>): Promise<T | undefined> {
  let cancel = (): void => undefined;
  const late = new Promise<undefined>((resolve) => {
    cancel = clock.after(ms, () => resolve(undefined));
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    cancel();
  }
}

/** One-shot timers. A new timer replaces the earlier one of the same name. */
export class Timers<Name extends string> {
  readonly #clock: Clock;
  readonly #cancels = new Map<Name, () => void>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  set(name: Name, ms: number, callback: () => void): void {
    this.cancel(name);
    const cancel = this.#clock.after(ms, () => {
      this.#cancels.delete(name);
      callback();
    });
    this.#cancels.set(name, cancel);
  }

  has(name: Name): boolean {
    return this.#cancels.has(name);
  }

  cancel(name: Name): void {
    this.#cancels.get(name)?.();
    this.#cancels.delete(name);
  }

  cancelAll(): void {
    for (const name of [...this.#cancels.keys()]) this.cancel(name);
  }
}

const RATE_WINDOW_MS = 1_000;

/**
 * Admits at most `max` events in a window of one second. A window begins with the first event after the end
 * of the earlier window.
 */
export class RateLimit {
  readonly #max: number;
  #windowStartMs = Number.NEGATIVE_INFINITY;
  #count = 0;

  constructor(max: number) {
    this.#max = max;
  }

  /** Counts `count` events at the monotonic time `nowMs`. Returns false if the window then has too many. */
  admit(nowMs: number, count = 1): boolean {
    if (nowMs - this.#windowStartMs >= RATE_WINDOW_MS) {
      this.#windowStartMs = nowMs;
      this.#count = 0;
    }
    this.#count += count;
    return this.#count <= this.#max;
  }
}

const FIRST_DELAY_MS = 250;
const LONGEST_DELAY_MS = 30_000;
/** The largest share of a delay that is subtracted at random. Nothing is ever added to a delay. */
const JITTER_MAX_SHARE = 0.25;

/**
 * Returns the delay in ms before an attempt to reach a lost peer (docs/http-api.md, "Backends that are
 * away"). Attempt 0 has no delay, and attempt 1 has 250 ms. The delay then doubles with each attempt, up to
 * 30 s. Up to a quarter of each delay is subtracted at random, so that nodes that lost the same peer do not
 * reconnect together. `random` is in 0..1.
 */
export function backoffMs(attempt: number, random: number): number {
  if (attempt <= 0) return 0;
  const delayMs = Math.min(FIRST_DELAY_MS * 2 ** (attempt - 1), LONGEST_DELAY_MS);
  return Math.round(delayMs * (1 - JITTER_MAX_SHARE * random));
}
