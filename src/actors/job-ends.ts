// How jobs of a manager have ended lately. A job may end before the reply that names it has been read (4 of 60, measured),
// so that its end must be known by whoever asks a moment later. Pure.

/** A start-up of a user's session ends some dozens at once. */
const ENDS_MAX_JOBS = 256;

export class JobEnds {
  readonly #results = new Map<string, string>();

  /** JobRemoved: `job` is its path. The oldest end is forgotten when there are too many. */
  ended(job: string, result: string): void {
    this.#results.set(job, result);
    const [oldest] = this.#results.keys();
    if (this.#results.size > ENDS_MAX_JOBS && oldest !== undefined) this.#results.delete(oldest);
  }

  /** The result of a job that has ended lately. */
  resultOf(job: string): string | undefined {
    return this.#results.get(job);
  }

  /** The manager is another one: it counts its jobs from the beginning. */
  clear(): void {
    this.#results.clear();
  }
}
