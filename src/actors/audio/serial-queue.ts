// One thing after another, with a bound: the next task begins when the one before has ended, however it ended.

export class SerialQueue {
  readonly #max: number;
  #waiting = 0;
  #tail: Promise<unknown> = Promise.resolve();

  /** `max`: tasks that wait or run; one more is refused. */
  constructor(max: number) {
    this.#max = max;
  }

  /** The task's own result; undefined when the queue is full, and the task will not run. */
  add<T>(task: () => Promise<T>): Promise<T> | undefined {
    if (this.#waiting >= this.#max) return undefined;
    this.#waiting += 1;
    const result = this.#tail.then(task).finally(() => {
      this.#waiting -= 1;
    });
    // A failed task is its caller's business; the ones behind it go on.
    this.#tail = result.catch(() => undefined);
    return result;
  }
}
