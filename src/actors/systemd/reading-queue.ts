// Who reads when: of each subject one reading under way and one behind it at most, and of all subjects so many at a time.
// It does not know what is read.

export class ReadingQueue<Result> {
  readonly #atOnce: number;
  /** By subject: the reading that whoever asks now would join, or wait for. */
  readonly #latest = new Map<string, Promise<Result>>();
  /** Subjects of which a reading waits behind the one under way. */
  readonly #again = new Set<string>();
  /** Bounded by the subjects: one reading of each at most. */
  readonly #waiting: (() => void)[] = [];
  #underWay = 0;

  constructor(atOnce: number) {
    this.#atOnce = atOnce;
  }

  /** Gives the result of a reading that begins after this call: `read`'s, or that of somebody who asked for the same. */
  join(subject: string, read: () => Promise<Result>): Promise<Result> {
    const latest = this.#latest.get(subject);
    if (latest === undefined) return this.#begin(subject, read);
    if (this.#again.has(subject)) return latest;
    this.#again.add(subject);
    const begin = (): Promise<Result> => {
      this.#again.delete(subject);
      return this.#begin(subject, read);
    };
    const next = latest.then(begin, begin);
    // From here on whoever asks joins the second one, which has not begun.
    this.#latest.set(subject, next);
    return next;
  }

  #begin(subject: string, read: () => Promise<Result>): Promise<Result> {
    const reading = this.#inTurn(read).finally(() => {
      if (this.#latest.get(subject) === reading) this.#latest.delete(subject);
    });
    this.#latest.set(subject, reading);
    return reading;
  }

  async #inTurn(read: () => Promise<Result>): Promise<Result> {
    if (this.#underWay < this.#atOnce) this.#underWay += 1;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    try {
      return await read();
    } finally {
      // A place that is handed on stays taken.
      const next = this.#waiting.shift();
      if (next === undefined) this.#underWay -= 1;
      else next();
    }
  }
}
