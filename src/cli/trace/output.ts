// Writes a trace's lines. It ends in two ways: the reader has closed the pipe, or writing fails. It buffers for a slow reader, and
// signals when the buffer is full.

export class TraceOutput {
  /** The reason why writing failed; undefined if the reader closed the pipe, which is no error. */
  failure: string | undefined;
  readonly #stream: NodeJS.WritableStream;
  readonly #onOver: () => void;
  #isOver = false;
  #isFull = false;
  #waiting: (() => void)[] = [];

  /** `onOver` is called once, when nothing more can be written. */
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

  /** Calls back at once, or when the reader has taken the buffered text or is gone. */
  whenRoom(callback: () => void): void {
    if (this.#isFull && !this.#isOver) this.#waiting.push(callback);
    else callback();
  }

  /** Runs `write`, which writes elsewhere. If it throws, the trace ends and the result is undefined. */
  attempt<T>(write: () => T): T | undefined {
    if (this.failure !== undefined) return undefined;
    try {
      return write();
    } catch (error) {
      this.#over(error);
      return undefined;
    }
  }

  /** Resolves when everything was written. */
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

/** The system's error message. */
export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
