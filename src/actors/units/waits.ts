// The waits of commands: for the end of a manager's job, or for a state of a unit.

import { type Clock, within } from '../../host/clock.js';

/** How many ended jobs are remembered. A start of a user's session ends some dozens at once. */
const ENDS_MAX_JOBS = 256;

/**
 * `ended`: JobRemoved came, or the job no longer exists and its result is unknown. `away`: the manager is
 * gone.
 */
export type JobEnd = { readonly kind: 'ended'; readonly result?: string } | { readonly kind: 'away' };

const AWAY: JobEnd = { kind: 'away' };

export interface AwaitedJob {
  readonly job: string;
  readonly unit: string;
}

/** The supervisor bounds those who wait, as it bounds running commands. */
export class Waits {
  readonly #clock: Clock;
  readonly #checks = new Set<() => void>();
  /**
   * Ends of recent jobs, by path. A job may end before the reply that names it is read
   * (docs/development/what-we-learnt.md, "systemd, logind and Avahi"); the wait for it begins later.
   */
  readonly #ends = new Map<string, JobEnd & { readonly kind: 'ended' }>();
  readonly #awaited = new Set<AwaitedJob>();
  #losses = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Resolves to the first value that `found` gives, now or when there is news; to undefined after `ms`. */
  async until<T>(ms: number, found: () => T | undefined): Promise<T | undefined> {
    let check = (): void => undefined;
    const first = new Promise<T>((resolve) => {
      check = () => {
        const value = found();
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

  /** To be called when what is waited for may be there. */
  news(): void {
    for (const check of [...this.#checks]) check();
  }

  /** Records that a job, by its path, is over; without the result if JobRemoved was missed. */
  removed(job: string, result?: string): void {
    this.#ends.set(job, { kind: 'ended', ...(result !== undefined && { result }) });
    const [oldest] = this.#ends.keys();
    if (this.#ends.size > ENDS_MAX_JOBS && oldest !== undefined) this.#ends.delete(oldest);
    this.news();
  }

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

  /** The jobs that are awaited now, to be passed to `compare`. */
  awaited(): readonly AwaitedJob[] {
    return [...this.#awaited];
  }

  /**
   * To be called after a reading that began after `awaited` was taken: a job that its unit no longer has is
   * over, and its end was missed. A job that was awaited later may be newer than the reading; for a unit that
   * was not read (undefined) nothing is known.
   */
  compare(awaited: readonly AwaitedJob[], jobOf: (unit: string) => string | undefined): void {
    for (const { job, unit } of awaited) {
      const read = jobOf(unit);
      if (read !== undefined && read !== job && !this.#ends.has(job)) this.removed(job);
    }
  }

  /** The manager is gone: a new one numbers its jobs from the beginning. */
  away(): void {
    this.#ends.clear();
    this.#losses += 1;
    this.news();
  }
}
