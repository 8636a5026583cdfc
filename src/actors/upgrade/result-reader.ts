// Reads the result file at every change, one reading at a time, and tells what came of it. It may lie on a network's disk that does
// not answer: then it hangs on a thread for files, one for all that is to be done, and not on the actor's own.

import { stat } from 'node:fs/promises';
import type { Clock } from '../clock.js';
import { LazyWatch } from '../path-watch.js';
import { READ_MAX_MS, readSmallFile } from '../small-file.js';
import { parseResult, RESULT_MAX_BYTES, type Result } from './result-text.js';

/** A detector that writes in place is given this time to finish. */
const SETTLE_MS = 40;
/** What takes longer is told, and waited for all the same. */
const LATE: Result = { ok: false, problem: `it cannot be read within ${READ_MAX_MS / 1_000} s` };

export class ResultReader {
  readonly #path: string;
  readonly #onResult: (result: Result) => void;
  readonly #clock: Clock;
  readonly #watch: LazyWatch;
  #reading: Promise<void> | undefined;
  /** To be looked at anew, and to be read anew whether or not it seems changed. */
  #again = false;
  #unread = false;
  #stopped = false;

  constructor(path: string, onResult: (result: Result) => void, clock: Clock) {
    this.#path = path;
    this.#onResult = onResult;
    this.#clock = clock;
    this.#watch = new LazyWatch(path, () => void this.#look(), { settleMs: SETTLE_MS });
  }

  /** Resolves when the file has been read as it is now, which may be never. */
  read(): Promise<void> {
    this.#unread = true;
    return this.#look();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#watch.close();
    await this.#reading;
  }

  #look(): Promise<void> {
    this.#again = true;
    this.#reading ??= this.#readAll();
    return this.#reading;
  }

  async #readAll(): Promise<void> {
    while (this.#again && !this.#stopped) {
      this.#again = false;
      const inTime = this.#clock.after(READ_MAX_MS, () => {
        this.#unread = true;
        this.#tell(LATE);
      });
      await this.#readOne();
      inTime();
    }
    // In the same turn as the last look at #again: a change that comes now starts a reading of its own.
    this.#reading = undefined;
  }

  async #readOne(): Promise<void> {
    // The watch looks from the actor's thread: only where somebody else has just come through.
    await stat(this.#path).catch(() => undefined);
    // Watching first: what changes during the reading is told.
    if (!this.#watch.look() && !this.#unread) return;
    this.#unread = false;
    const file = await readSmallFile(this.#path, RESULT_MAX_BYTES);
    this.#tell(file.ok ? parseResult(file.bytes) : file);
  }

  #tell(result: Result): void {
    if (!this.#stopped) this.#onResult(result);
  }
}
