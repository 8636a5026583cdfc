// Decides when a command's wait is over: the job has ended, the unit has a certain state, the manager has
// gone, or the time is up.

import { type Clock, within } from '../../host/clock.js';

/** How many ended jobs are remembered. At the start of a user's session some dozens of jobs end at once. */
const ENDS_MAX_JOBS = 256;

/**
 * `ended`: the job has ended. `result` is absent if the signal JobRemoved was missed. `away`: the manager
 * went away before the job ended.
 */
export type JobEnd = { readonly kind: 'ended'; readonly result?: string } | { readonly kind: 'away' };

const AWAY: JobEnd = { kind: 'away' };

export interface AwaitedJob {
  readonly job: string;
  readonly unit: string;
}

export class Waits {
  readonly #clock: Clock;
  /** One function for each wait. The function ends the wait if the awaited value is there. */
  readonly #checks = new Set<() => void>();
  /**
   * The ends of recent jobs, by the job's path. A job may end before the reply that names the job is read,
   * and so before the wait begins (docs/development/what-we-learnt.md, "systemd, logind and Avahi").
   */
  readonly #ends = new Map<string, Extract<JobEnd, { readonly kind: 'ended' }>>();
  /** This set is bounded, because the supervisor bounds the commands that run at a time. */
  readonly #awaited = new Set<AwaitedJob>();
  #managerLosses = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Calls `valueNow` now and at each `recheck`. Resolves to its first value that is not undefined, or after
   * `ms` to undefined.
   */
  async until<T>(ms: number, valueNow: () => T | undefined): Promise<T | undefined> {
    // `check` is replaced before it is used, because `new Promise` calls its function at once.
    let check = (): void => undefined;
    const firstValue = new Promise<T>((resolve) => {
      check = () => {
        const value = valueNow();
        if (value !== undefined) resolve(value);
      };
    });
    this.#checks.add(check);
    try {
      check();
      return await within(this.#clock, ms, firstValue);
    } finally {
      this.#checks.delete(check);
    }
  }

  /** To be called when anything has changed for which a command may wait. */
  recheck(): void {
    for (const check of [...this.#checks]) check();
  }

  /** To be called when a job has ended. `job` is its path. `result` is absent if JobRemoved was missed. */
  jobEnded(job: string, result?: string): void {
    this.#ends.set(job, { kind: 'ended', ...(result !== undefined && { result }) });
    const [oldest] = this.#ends.keys();
    if (this.#ends.size > ENDS_MAX_JOBS && oldest !== undefined) this.#ends.delete(oldest);
    this.recheck();
  }

  /** Undefined if the job has not ended, or if its result is not known. */
  jobResult(job: string): string | undefined {
    return this.#ends.get(job)?.result;
  }

  /** Resolves to the job's end, or to undefined if the job has not ended after `ms`. */
  async forJob(job: string, unit: string, ms: number): Promise<JobEnd | undefined> {
    const awaited = { job, unit };
    const lossesBefore = this.#managerLosses;
    this.#awaited.add(awaited);
    try {
      return await this.until(ms, () => (lossesBefore === this.#managerLosses ? this.#ends.get(job) : AWAY));
    } finally {
      this.#awaited.delete(awaited);
    }
  }

  /** The jobs that are awaited now, to be passed to `endMissed`. */
  awaitedJobs(): readonly AwaitedJob[] {
    return [...this.#awaited];
  }

  /**
   * Ends the wait for a job if the job's unit now has another job or no job. To be called after a reading of
   * the units. `awaitedBefore` is the result of `awaitedJobs` from before the reading. Later jobs are not
   * checked, because the reading may lack them. `jobOf` returns the path of a unit's job: '' for no job,
   * undefined if the unit is not followed.
   */
  endMissed(awaitedBefore: readonly AwaitedJob[], jobOf: (unit: string) => string | undefined): void {
    for (const { job, unit } of awaitedBefore) {
      const presentJob = jobOf(unit);
      const isOver = presentJob !== undefined && presentJob !== job;
      if (isOver && !this.#ends.has(job)) this.jobEnded(job);
    }
  }

  /**
   * To be called when the manager has gone or cannot be reached any more. The known ends are forgotten,
   * because a new manager uses the same paths for its jobs.
   */
  managerLost(): void {
    this.#ends.clear();
    this.#managerLosses += 1;
    this.recheck();
  }
}
