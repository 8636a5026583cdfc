// Reads the result file at every change, one reading at a time, and tells what came of it.

import { PathWatch } from '../path-watch.js';
import { readSmallFile } from '../small-file.js';
import { parseResult, RESULT_MAX_BYTES, type Result } from './result-text.js';

/** A detector that writes in place is given this time to finish. */
const SETTLE_MS = 40;

export class ResultReader {
  readonly #path: string;
  readonly #onResult: (result: Result) => void;
  readonly #watch: PathWatch;
  #reading: Promise<void> | undefined;
  /** Changed since the reading began. */
  #again = false;
  #stopped = false;

  constructor(path: string, onResult: (result: Result) => void) {
    this.#path = path;
    this.#onResult = onResult;
    // Watching first: what changes during the first reading is told.
    this.#watch = new PathWatch(path, () => void this.read(), { settleMs: SETTLE_MS });
  }

  /** Resolves when the file has been read as it is now. */
  read(): Promise<void> {
    this.#again = true;
    this.#reading ??= this.#readAll();
    return this.#reading;
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#watch.close();
    await this.#reading;
  }

  async #readAll(): Promise<void> {
    while (this.#again && !this.#stopped) {
      this.#again = false;
      const file = await readSmallFile(this.#path, RESULT_MAX_BYTES);
      if (!this.#stopped) this.#onResult(file.ok ? parseResult(file.bytes) : file);
    }
    // In the same turn as the last look at #again: a change that comes now starts a reading of its own.
    this.#reading = undefined;
  }
}
