// One thing after another: the next task begins when the one before has ended, however it ended. How many may wait is bounded by
// the caller: of commands, the runtime admits so many at a time.

export class SerialQueue {
  #tail: Promise<unknown> = Promise.resolve();

  /** The task's own result. */
  add<T>(task: () => Promise<T>): Promise<T> {
    const result = this.#tail.then(task);
    // A failed task is its caller's business; the ones behind it go on.
    this.#tail = result.catch(() => undefined);
    return result;
  }
}
