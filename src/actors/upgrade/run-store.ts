// The state file: read once at start, written whole at each transition, the newest text last.

import { type Clock, delay } from '../clock.js';
import { codeOf, readSmallFile } from '../small-file.js';
import { writeWhole } from './file-text.js';
import { parseSaved, type SavedRun, STATE_MAX_BYTES, savedText } from './run-record.js';

export type Recalled =
  | { readonly ok: true; readonly saved: SavedRun | undefined }
  | { readonly ok: false; readonly problem: string };

export class RunStore {
  readonly #path: string;
  readonly #onProblem: (problem: string | undefined) => void;
  #next: string | undefined;
  #writing: Promise<void> | undefined;

  /** `onProblem` hears how each writing ended. */
  constructor(path: string, onProblem: (problem: string | undefined) => void) {
    this.#path = path;
    this.#onProblem = onProblem;
  }

  async recall(): Promise<Recalled> {
    const file = await readSmallFile(this.#path, STATE_MAX_BYTES);
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

  /** As `settled`, but for at most `deadlineMs`: a disk may hang. Whether it has settled by then. */
  async settledWithin(deadlineMs: number, clock: Clock): Promise<boolean> {
    const late = delay(clock, deadlineMs);
    const isSettled = await Promise.race([this.settled().then(() => true), late.passed.then(() => false)]);
    late.cancel();
    return isSettled;
  }

  async #writeAll(): Promise<void> {
    while (this.#next !== undefined) {
      const text = this.#next;
      this.#next = undefined;
      await writeWhole(this.#path, text).then(
        () => this.#onProblem(undefined),
        (error: unknown) => this.#onProblem(`it cannot be written (${codeOf(error)})`),
      );
    }
    // In the same turn as the last look at #next: a text that comes now starts a writing of its own.
    this.#writing = undefined;
  }
}
