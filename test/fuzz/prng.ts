// A small deterministic random source for tests (mulberry32): the same seed gives the same numbers on every machine.

export interface Random {
  /** An integer from 0 up to, not including, `limit`. */
  below(limit: number): number;
  pick<T>(values: readonly [T, ...T[]]): T;
}

export function seeded(seed: number): Random {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return (mixed ^ (mixed >>> 14)) >>> 0;
  };
  const below = (limit: number): number => next() % limit;
  return { below, pick: (values) => values[below(values.length)] ?? values[0] };
}

/** The seed of this run: from TONEARM_FUZZ_SEED, to repeat a failure, or of the moment. */
export function seedOfRun(): number {
  const given = process.env['TONEARM_FUZZ_SEED'];
  return given === undefined ? Date.now() % 0x1_0000_0000 : Number(given) >>> 0;
}
