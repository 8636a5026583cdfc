// Keeps what commands wait for, the end of a job or a state of a unit, and decides when a wait is over.

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

/** The number of waits has a bound, because the supervisor bounds the running commands. */
export class Waits {
  readonly #clock: Clock;
  /** A function for each wait, which ends the wait if its value is there. */
  readonly #checks = new Set<() => void>();
  /**
   * The ends of recent jobs, by path. They are remembered because a job may end before the reply that names
   * it (docs/development/what-we-learnt.md, "systemd, logind and Avahi"), and before the wait for it begins.
   */
  readonly #ends = new Map<string, JobEnd & { readonly kind: 'ended' }>();
  readonly #awaited = new Set<AwaitedJob>();
  /** Counts the managers that have gone. */
  #losses = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Resolves to the first value that `valueNow` returns, now or at a `recheck`; to undefined after `ms`. */
  async until<T>(ms: number, valueNow: () => T | undefined): Promise<T | undefined> {
    let check = (): void => undefined;
    const first = new Promise<T>((resolve) => {
      check = () => {
        const value = valueNow();
        if (value !== undefined) resolve(value);
      };
    });
    this.#checks.add(check);
    try {
      check();
      return await within(this.#clock, ms, first);
    } finally {
      this.#checks.delete(check);
    }
  }

  /** To be called when anything has changed for which a command may wait. */
  recheck(): void {
    for (const check of [...this.#checks]) check();
  }

  /** To be called when a job, by its path, has ended; without the result if JobRemoved was missed. */
  jobEnded(job: string, result?: string): void {
    this.#ends.set(job, { kind: 'ended', ...(result !== undefined && { result }) });
    const [oldest] = this.#ends.keys();
    if (this.#ends.size > ENDS_MAX_JOBS && oldest !== undefined) this.#ends.delete(oldest);
    this.recheck();
  }

  /** Undefined if the job has not ended, or if its result is not known. */
  resultOf(job: string): string | undefined {
    return this.#ends.get(job)?.result;
  }

  /** Resolves to the job's end; to undefined if it has not ended after `ms`. */
  async forJob(job: string, unit: string, ms: number): Promise<JobEnd | undefined> {
    const awaited = { job, unit };
    const losses = this.#losses;
    this.#awaited.add(awaited);
    try {
      return await this.until(ms, () => (losses === this.#losses ? this.#ends.get(job) : AWAY));
    } finally {
      this.#awaited.delete(awaited);
    }
  }

  /** The jobs that are awaited now, to be passed to `endMissed`. */
  awaitedJobs(): readonly AwaitedJob[] {
    return [...this.#awaited];
  }

  /**
   * Ends the jobs whose ends were missed. A job has ended if its unit no longer has it. To be called after a
   * reading. `awaited` are the `awaitedJobs` from before the reading, because a job that is awaited later
   * may be newer than the reading. `jobOf` gives the path of the job that was read of a unit, '' for none;
   * it gives undefined for a unit that was not read.
   */
  endMissed(awaited: readonly AwaitedJob[], jobOf: (unit: string) => string | undefined): void {
    for (const { job, unit } of awaited) {
      const presentJob = jobOf(unit);
      const isOver = presentJob !== undefined && presentJob !== job;
      if (isOver && !this.#ends.has(job)) this.jobEnded(job);
    }
  }

  /** To be called when the manager has gone. A new one numbers its jobs from the beginning. */
  managerLost(): void {
    this.#ends.clear();
    this.#losses += 1;
    this.recheck();
  }
}
