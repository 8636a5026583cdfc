// Time, as the supervisor is given it. The only file of the supervisor that reads a clock or sets a timer.

/** Timers and deaths count on `monotonic`: a node without a clock battery jumps by years when the network sets its date. */
export interface Clock {
  /** Milliseconds that never jump. */
  monotonic(): number;
  /** Milliseconds since the epoch, for people to read. */
  date(): number;
  /** Runs `action` once, `ms` from now; the answer cancels it. */
  after(ms: number, action: () => void): () => void;
}

export const systemClock: Clock = {
  monotonic: () => performance.now(),
  date: () => Date.now(),
  after: (ms, action) => {
    const timer = setTimeout(action, ms);
    return () => clearTimeout(timer);
  },
};
