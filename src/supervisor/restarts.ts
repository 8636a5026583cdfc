// When a dead child is started again (docs/http-api.md, "Backends that are away"). Pure.

/** Times in ms. */
export interface RestartPolicy {
  /** The wait after the first, second, ... death within the window. One death more than there are waits is too many. */
  readonly waitsMs: readonly number[];
  /** Older deaths are ignored. */
  readonly windowMs: number;
  /** The pause of a child that died too often. */
  readonly restMs: number;
}

/** At once, then with back-off; the sixth death within 60 s is too many. No jitter: nothing else restarts at the same time. */
export const RESTARTS: RestartPolicy = {
  waitsMs: [0, 250, 500, 1000, 2000],
  windowMs: 60_000,
  restMs: 60_000,
};

export interface Restart {
  readonly verdict: 'restarting' | 'failed';
  /** From now to the next start. */
  readonly waitMs: number;
  /** The deaths within the window, oldest first; at most one more than there are waits. */
  readonly deaths: readonly number[];
}

/** `deaths` are the times of earlier deaths on the clock of `now`, oldest first, without this death. */
export function afterDeath(deaths: readonly number[], now: number, policy: RestartPolicy): Restart {
  const recent = [...deaths.filter((at) => now - at < policy.windowMs), now];
  const waitMs = policy.waitsMs[recent.length - 1];
  if (waitMs !== undefined) return { verdict: 'restarting', waitMs, deaths: recent };
  return { verdict: 'failed', waitMs: policy.restMs, deaths: recent.slice(-policy.waitsMs.length - 1) };
}
