// A manager's jobs: who waits for which, and how it ends.

import { type Clock, within } from '../../clock.js';

/** How many ended jobs are remembered. A start of a user's session ends some dozens at once. */
const ENDS_MAX_JOBS = 256;

/** `ended`: JobRemoved came, or the job no longer exists and its result is unknown. `away`: the manager is gone. */
export type JobEnd = { readonly kind: 'ended'; readonly result?: string } | { readonly kind: 'away' };

export interface AwaitedJob {
  readonly job: string;
  readonly unit: string;
}

interface JobWaiter extends AwaitedJob {
  readonly settle: (end: JobEnd) => void;
}

export class Jobs {
  readonly #clock: Clock;
  /**
   * Results of recent jobs, by path. A job may end before the reply that names it has been read (4 of 60, measured), so a later `wait` must
   * still find its end.
   */
  readonly #ends = new Map<string, string>();
  /** The supervisor bounds these, as it bounds running commands. */
  readonly #waiters = new Set<JobWaiter>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Records JobRemoved: `job` is the path. */
  removed(job: string, result: string): void {
    this.#ends.set(job, result);
    const [oldest] = this.#ends.keys();
    if (this.#ends.size > ENDS_MAX_JOBS && oldest !== undefined) this.#ends.delete(oldest);
    this.#settle((each) => each.job === job, { kind: 'ended', result });
  }

  resultOf(job: string): string | undefined {
    return this.#ends.get(job);
  }

  /** Resolves to the job's end; to undefined if it has not ended after `ms`. */
  async wait(job: string, unit: string, ms: number): Promise<JobEnd | undefined> {
    const result = this.resultOf(job);
    if (result !== undefined) return { kind: 'ended', result };
    let forget = (): void => undefined;
    const end = new Promise<JobEnd>((settle) => {
      const waiter = { job, unit, settle };
      this.#waiters.add(waiter);
      forget = () => this.#waiters.delete(waiter);
    });
    return within(this.#clock, ms, end).finally(forget);
  }

  /** The jobs that are awaited now, to be passed to `compare`. */
  awaited(): readonly AwaitedJob[] {
    return [...this.#waiters];
  }

  /**
   * To be called after a reading that began after `awaited` was taken: a job that its unit no longer has is over, and its end was missed. A
   * job that was awaited later may be newer than the reading; for a unit that was not read (undefined) nothing is known.
   */
  compare(awaited: readonly AwaitedJob[], jobOf: (unit: string) => string | undefined): void {
    for (const { job, unit } of awaited) {
      const read = jobOf(unit);
      if (read !== undefined && read !== job) this.#settle((each) => each.job === job, { kind: 'ended' });
    }
  }

  /** The manager is gone: a new one numbers its jobs from the beginning. */
  away(): void {
    this.#ends.clear();
    this.#settle(() => true, { kind: 'away' });
  }

  #settle(which: (waiter: JobWaiter) => boolean, end: JobEnd): void {
    for (const waiter of [...this.#waiters].filter(which)) {
      this.#waiters.delete(waiter);
      waiter.settle(end);
    }
  }
}
