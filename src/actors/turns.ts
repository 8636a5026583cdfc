// Work that must not overlap: steps one after the other, and a piece of work that all who need it meanwhile
// share.

/** Runs steps one after the other. */
export class Turns {
  #last: Promise<unknown> = Promise.resolve();

  /** Runs the step when the one before has ended, well or not. */
  run<T>(step: () => Promise<T>): Promise<T> {
    const next = this.#last.then(step);
    this.#last = next.catch(() => undefined);
    return next;
  }
}

/** Runs one piece of work again and again, once at a time. */
export class SharedWork<T> {
  readonly #work: () => Promise<T>;
  #running: Promise<T> | undefined;
  #next: Promise<T> | undefined;

  /** `work` does not reject. */
  constructor(work: () => Promise<T>) {
    this.#work = work;
  }

  /** Resolves to the result of a run that began after the call. */
  run(): Promise<T> {
    if (this.#running === undefined) return this.#next ?? this.#begin();
    this.#next ??= this.#running.then(() => this.#begin());
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
