// Counts requests and their durations by operation, for `GET /metrics`. Operations and statuses are closed
// sets, so the counts have a bound.

/** The upper bounds of the buckets, in seconds. The last one is the deadline of a command. */
export const BUCKET_BOUNDS_S = [0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10] as const;

export interface OperationCounts {
  /** By HTTP status. */
  readonly statuses: Map<number, number>;
  /**
   * `buckets[i]` counts requests that took at most `BUCKET_BOUNDS_S[i]`, but longer than the bound before.
   * No bucket counts a request that took longer than the last bound.
   */
  readonly buckets: number[];
  count: number;
  sumS: number;
}

export class RequestCounts {
  readonly #byOperation = new Map<string, OperationCounts>();

  /** `tookMs` is the time from the arrival of the request's head to the answer. */
  note(operation: string, status: number, tookMs: number): void {
    const counts = this.#byOperation.get(operation) ?? this.#newOperation(operation);
    counts.statuses.set(status, (counts.statuses.get(status) ?? 0) + 1);
    const seconds = tookMs / 1000;
    counts.count += 1;
    counts.sumS += seconds;
    const bucket = BUCKET_BOUNDS_S.findIndex((bound) => seconds <= bound);
    if (bucket >= 0) counts.buckets[bucket] = (counts.buckets[bucket] ?? 0) + 1;
  }

  countsByOperation(): ReadonlyMap<string, OperationCounts> {
    return this.#byOperation;
  }

  #newOperation(operation: string): OperationCounts {
    const counts = { statuses: new Map(), buckets: BUCKET_BOUNDS_S.map(() => 0), count: 0, sumS: 0 };
    this.#byOperation.set(operation, counts);
    return counts;
  }
}
