// Where a trace's lines go, with the two ways in which that ends: nobody reads them any more, or they cannot be written. It holds what a slow
// reader has not taken, and tells when that is so much that nothing more should come.

export class TraceOutput {
  /** Why it cannot be written; a reader that has left has seen enough. */
  failure: string | undefined;
  readonly #stream: NodeJS.WritableStream;
  readonly #onOver: () => void;
  #isOver = false;
  #isFull = false;
  #waiting: (() => void)[] = [];

  /** `onOver` is called once, when nothing more can be said. */
  constructor(stream: NodeJS.WritableStream, onOver: () => void) {
    this.#stream = stream;
    this.#onOver = onOver;
    stream.on('drain', () => {
      this.#isFull = false;
      this.#release();
    });
    stream.on('error', (error: NodeJS.ErrnoException) =>
      this.#over(error.code === 'EPIPE' ? undefined : error),
    );
  }

  write(text: string): void {
    if (!this.#isOver) this.#isFull = !this.#stream.write(text);
  }

  /** At once, or when the reader has taken what waits for it, or is no more. */
  whenRoom(callback: () => void): void {
    if (this.#isFull && !this.#isOver) this.#waiting.push(callback);
    else callback();
  }

  /** Does what writes elsewhere; undefined when it cannot, which ends everything. */
  attempt<T>(write: () => T): T | undefined {
    if (this.failure !== undefined) return undefined;
    try {
      return write();
    } catch (error) {
      this.#over(error);
      return undefined;
    }
  }

  /** Resolves when all that was said has been taken. */
  written(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#isOver) resolve();
      else this.#stream.write('', () => resolve());
    });
  }

  #over(error: unknown): void {
    if (error !== undefined) this.failure ??= messageOf(error);
    if (this.#isOver) return;
    this.#isOver = true;
    this.#release();
    this.#onOver();
  }

  #release(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const callback of waiting) callback();
  }
}

/** What the system says. */
export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
