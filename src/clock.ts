// Time and chance, as every part is given them: the one place that reads the clock of the machine for the others; and how long to
// wait before a lost peer is tried again.

export interface Clock {
  /** Milliseconds since the epoch, for people to read: it jumps by years when the network sets the date of a node without a battery. */
  date(): number;
  /** Milliseconds since some moment; never goes back. What is waited for or measured counts on this. */
  monotonic(): number;
  /** Calls `callback` once after `ms` milliseconds; the answer cancels it. */
  after(ms: number, callback: () => void): () => void;
  /** 0 <= x < 1. */
  random(): number;
}

export const systemClock: Clock = {
  date: () => Date.now(),
  monotonic: () => performance.now(),
  after: (ms, callback) => {
    const timer = setTimeout(callback, ms);
    return () => clearTimeout(timer);
  },
  random: () => Math.random(),
};

/** What `promise` resolves to, or undefined after `ms`: whatever becomes of it then is of no interest. */
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

/** One-shot timers by name: setting one again replaces it. */
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

const WINDOW_MS = 1_000;

/** At most so many in a second, counted from the first. */
export class RateLimit {
  readonly #max: number;
  #windowStart = Number.NEGATIVE_INFINITY;
  #count = 0;

  constructor(max: number) {
    this.#max = max;
  }

  /** False when `count` more at the monotonic time `now`, in ms, are too many. */
  admits(now: number, count = 1): boolean {
    if (now - this.#windowStart >= WINDOW_MS) {
      this.#windowStart = now;
      this.#count = 0;
    }
    this.#count += count;
    return this.#count <= this.#max;
  }
}

const FIRST_DELAY_MS = 250;
const LONGEST_DELAY_MS = 30_000;
/** The share of a delay that chance may take away: it only shortens, so the longest delay stays the longest. */
const JITTER = 0.25;

/**
 * The wait in ms before attempt number `attempt` since the peer was lost (docs/http-api.md, "Backends that are away"): 0 is at once, then
 * 250 ms, doubled each time up to 30 s. `random` is in 0..1, so that nodes that lost one peer do not return in step.
 */
export function backoffMs(attempt: number, random: number): number {
  if (attempt <= 0) return 0;
  const delayMs = Math.min(FIRST_DELAY_MS * 2 ** (attempt - 1), LONGEST_DELAY_MS);
  return Math.round(delayMs * (1 - JITTER * random));
}
