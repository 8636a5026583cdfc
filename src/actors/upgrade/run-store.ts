// The state file: read once at start, written whole at each transition, the newest text last. It may lie on a network's disk that
// does not answer: one reading or writing at a time, and all who wait do so for a bounded time.

import { type Clock, within } from '../clock.js';
import { codeOf, READ_MAX_MS, readSmallFile } from '../small-file.js';
import { writeWhole } from './file-text.js';
import { parseSaved, type SavedRun, STATE_MAX_BYTES, savedText } from './run-record.js';

/** A start is on the disk before it is answered, so that it outlives us; a disk that hangs longer delays no answer. */
const WRITE_MAX_MS = 1_000;

export type Recalled =
  | { readonly ok: true; readonly saved: SavedRun | undefined }
  | { readonly ok: false; readonly problem: string };

export class RunStore {
  readonly #path: string;
  readonly #onProblem: (problem: string | undefined) => void;
  readonly #clock: Clock;
  #recalling: Promise<unknown> | undefined;
  #next: string | undefined;
  #writing: Promise<void> | undefined;

  /** `onProblem` hears how each writing ended, and before that of one that takes too long. */
  constructor(path: string, onProblem: (problem: string | undefined) => void, clock: Clock) {
    this.#path = path;
    this.#onProblem = onProblem;
    this.#clock = clock;
  }

  async recall(): Promise<Recalled> {
    const reading = readSmallFile(this.#path, STATE_MAX_BYTES);
    this.#recalling = reading;
    const file = await within(this.#clock, READ_MAX_MS, reading);
    if (file === undefined)
      return { ok: false, problem: `it cannot be read within ${READ_MAX_MS / 1_000} s` };
    if (!file.ok) return file.missing ? { ok: true, saved: undefined } : { ok: false, problem: file.problem };
    const saved = parseSaved(Buffer.from(file.bytes).toString('utf8'));
    return saved === undefined ? { ok: false, problem: 'it does not hold a run' } : { ok: true, saved };
  }

  /** Never rejects; a text that is overtaken by a newer one may never be written. */
  save(saved: SavedRun): void {
    this.#next = savedText(saved);
    this.#writing ??= this.#writeAll();
  }

  /** Resolves when everything that was saved is on the disk, or has failed. */
  async settled(): Promise<void> {
    await this.#writing;
  }

  /** As `settled`, but for a bounded time: `onProblem` has been called then. */
  async settledInTime(): Promise<void> {
    await within(this.#clock, WRITE_MAX_MS, this.settled());
  }

  async #writeAll(): Promise<void> {
    while (this.#next !== undefined) {
      const inTime = this.#clock.after(WRITE_MAX_MS, () => {
        this.#onProblem(`it cannot be written within ${WRITE_MAX_MS / 1_000} s`);
      });
      await this.#recalling;
      const text = this.#next;
      this.#next = undefined;
      await writeWhole(this.#path, text).then(
        () => this.#onProblem(undefined),
        (error: unknown) => this.#onProblem(`it cannot be written (${codeOf(error)})`),
      );
      inTime();
    }
    // In the same turn as the last look at #next: a text that comes now starts a writing of its own.
    this.#writing = undefined;
  }
}
