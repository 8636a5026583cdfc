// Jobs of a manager: who waits for which, and how it ends.

/** How many ends of jobs are remembered. A start-up of a user's session ends some dozens at once. */
const ENDS_MAX_JOBS = 256;

/** `ended`: JobRemoved came, or the job is no more and its result unknown. `away`: nobody is left to tell. */
export type JobEnd = { readonly kind: 'ended'; readonly result?: string } | { readonly kind: 'away' };

/** Something to wait for; `forget` ends the waiting without an answer. */
export interface AwaitedChange<T> {
  readonly end: Promise<T>;
  readonly forget: () => void;
}

/** `job` is its path; `unit` the name of whose job this is. */
export interface AwaitedJob {
  readonly job: string;
  readonly unit: string;
}

interface JobWaiter extends AwaitedJob {
  readonly settle: (end: JobEnd) => void;
}

export class Jobs {
  /**
   * How jobs have ended lately, by their paths. One may end before the reply that names it has been read (4 of 60, measured), so
   * that its end must be known by whoever asks a moment later.
   */
  readonly #ends = new Map<string, string>();
  /** Bounded as the commands under way are, by the supervisor. */
  readonly #waiters = new Set<JobWaiter>();

  /** JobRemoved: `job` is its path. */
  removed(job: string, result: string): void {
    this.#ends.set(job, result);
    const [oldest] = this.#ends.keys();
    if (this.#ends.size > ENDS_MAX_JOBS && oldest !== undefined) this.#ends.delete(oldest);
    this.#settle((each) => each.job === job, { kind: 'ended', result });
  }

  /** The result of a job that has ended lately. */
  resultOf(job: string): string | undefined {
    return this.#ends.get(job);
  }

  wait(job: string, unit: string): AwaitedChange<JobEnd> {
    const result = this.resultOf(job);
    if (result !== undefined) {
      return { end: Promise.resolve({ kind: 'ended', result }), forget: () => undefined };
    }
    let forget = (): void => undefined;
    const end = new Promise<JobEnd>((resolve) => {
      const waiter: JobWaiter = { job, unit, settle: resolve };
      this.#waiters.add(waiter);
      forget = () => this.#waiters.delete(waiter);
    });
    return { end, forget };
  }

  /** The jobs that somebody waits for now, to be handed to `compare`. */
  awaited(): readonly AwaitedJob[] {
    return [...this.#waiters];
  }

  /**
   * After a reading that began when `awaited` was asked for: a job that its unit does not have any more is over, and what
   * came of it was not heard. A job that was asked for later may be newer than the reading; and of a unit that was not read
   * (undefined) nothing is known.
   */
  compare(awaited: readonly AwaitedJob[], jobOf: (unit: string) => string | undefined): void {
    for (const { job, unit } of awaited) {
      const read = jobOf(unit);
      if (read !== undefined && read !== job) this.#settle((each) => each.job === job, { kind: 'ended' });
    }
  }

  /** The manager is gone: a new one counts its jobs from the beginning. */
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
