// Keeps asynchronous work from overlapping. `Turns` runs different steps one after the other. `SharedWork`
// runs the same work once for all callers that wait at the same time.

/** Runs steps one after the other, in the order of the calls. */
export class Turns {
  #last: Promise<unknown> = Promise.resolve();

  /** Runs the step when the step before it has resolved or rejected. Settles as the step does. */
  run<T>(step: () => Promise<T>): Promise<T> {
    const next = this.#last.then(step);
    this.#last = next.catch(() => undefined);
    return next;
  }
}

/** Runs the same work whenever a caller needs a new result of it. Two runs never overlap. */
export class SharedWork<T> {
  readonly #work: () => Promise<T>;
  #running: Promise<T> | undefined;
  /** The run that begins when the run of `#running` has ended. */
  #next: Promise<T> | undefined;

  constructor(work: () => Promise<T>) {
    this.#work = work;
  }

  /** True if no run is under way or due. */
  get isIdle(): boolean {
    return this.#running === undefined && this.#next === undefined;
  }

  /**
   * Waits for a run that begins after the call, and settles as this run does. A run that is under way at the
   * call is not enough, because it may not know what has changed since it began.
   */
  run(): Promise<T> {
    // `#running` is undefined for a moment between the end of a run and the beginning of `#next`. A caller
    // at this moment gets `#next`, because `#next` begins after the call.
    if (this.#running === undefined) return this.#next ?? this.#begin();
    const begin = (): Promise<T> => this.#begin();
    // The next run begins even if the present run rejects. Only the present run's callers get its error.
    this.#next ??= this.#running.then(begin, begin);
    return this.#next;
  }

  #begin(): Promise<T> {
    this.#next = undefined;
    this.#running = this.#work().finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }
}
