// Reproducible chance (mulberry32): the same seed gives the same numbers on every machine, so that a failing
// round can be run again from its printed seed.

export class SeededRandom {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** A number of at least 0, and less than 1. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 0x1_0000_0000;
  }

  /** An integer of at least 0, and less than `bound`. */
  below(bound: number): number {
    return Math.floor(this.next() * bound);
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  /** @throws {RangeError} when `values` is empty */
  pick<T>(values: readonly T[]): T {
    if (values.length === 0) throw new RangeError('nothing to pick from');
    return values[this.below(values.length)] as T;
  }
}

/**
 * The seed of this run. `npm test` always has the same seed. Each round of `npm run soak` has another seed,
 * and runs the test files that import this constant. TONEARM_FUZZ_SEED sets the seed, to repeat a round.
 */
export const SEED = Number(process.env['TONEARM_FUZZ_SEED'] ?? 20_261_120) >>> 0;
