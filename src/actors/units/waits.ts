// Decides when a command's wait is over: its job has ended, its unit has a certain state, or its time is up.

import { type Clock, within } from '../../host/clock.js';

/** How many ended jobs are remembered. At the start of a user's session some dozens end at once. */
const ENDS_MAX_JOBS = 256;

/**
 * `ended`: the job has ended; without `result` if its signal JobRemoved was missed. `away`: the manager has
 * gone before the job ended.
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
   * The ends of recent jobs, by path. A job may end before the reply that names the job, and so before the
   * wait begins (docs/development/what-we-learnt.md, "systemd, logind and Avahi").
   */
  readonly #ends = new Map<string, Extract<JobEnd, { readonly kind: 'ended' }>>();
  /** This set is bounded, because the supervisor bounds the commands that run at a time. */
  readonly #awaited = new Set<AwaitedJob>();
  #managerLosses = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Resolves to the first value that `valueNow` returns, now or at a `recheck`; to undefined after `ms`. */
  async until<T>(ms: number, valueNow: () => T | undefined): Promise<T | undefined> {
    // `check` is replaced before it is used, because a promise calls its function at once.
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

  /** To be called when a job has ended. `job` is its path. Without `result`, JobRemoved was missed. */
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

  /** Resolves to the job's end; to undefined if it has not ended after `ms`. */
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
   * Ends the wait for a job if its unit now has another job or none. To be called after a reading of the
   * units. `awaited` are the `awaitedJobs` from before the reading, because the reading may be too old to
   * show a later job. `jobOf` returns the path of a unit's job: '' for none, undefined if the unit is not
   * followed.
   */
  endMissed(awaited: readonly AwaitedJob[], jobOf: (unit: string) => string | undefined): void {
    for (const { job, unit } of awaited) {
      const presentJob = jobOf(unit);
      const isOver = presentJob !== undefined && presentJob !== job;
      if (isOver && !this.#ends.has(job)) this.jobEnded(job);
    }
  }

  /**
   * To be called when the manager has gone. The known ends are forgotten, because a new manager gives its
   * jobs the same numbers again.
   */
  managerLost(): void {
    this.#ends.clear();
    this.#managerLosses += 1;
    this.recheck();
  }
}
