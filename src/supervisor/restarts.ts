// When a child that died is started again (contract, section 7). Pure: deaths and the time are arguments.

/** Policy as data; times in ms. */
export interface RestartPolicy {
  /** The wait after the first, second, ... death within the window. One death more than there are waits is too many. */
  readonly waitsMs: readonly number[];
  /** Deaths longer ago than this are forgotten. */
  readonly windowMs: number;
  /** How long a child rests that died too often. */
  readonly restMs: number;
}

/** At once, then backed off; the sixth death within 60 s is one more than 5. No jitter: nobody restarts in step with us. */
export const RESTARTS: RestartPolicy = {
  waitsMs: [0, 250, 500, 1000, 2000],
  windowMs: 60_000,
  restMs: 60_000,
};

export interface Restart {
  readonly verdict: 'restarting' | 'failed';
  /** From now until the next start. */
  readonly waitMs: number;
  /** The deaths that still count, oldest first; never more than one above the number of waits. */
  readonly deaths: readonly number[];
}

/** `deaths` are the times of earlier deaths on the clock of `now`, oldest first; this death is not among them. */
export function afterDeath(deaths: readonly number[], now: number, policy: RestartPolicy): Restart {
  const recent = [...deaths.filter((at) => now - at < policy.windowMs), now];
  const waitMs = policy.waitsMs[recent.length - 1];
  if (waitMs !== undefined) return { verdict: 'restarting', waitMs, deaths: recent };
  return { verdict: 'failed', waitMs: policy.restMs, deaths: recent.slice(-policy.waitsMs.length - 1) };
}
