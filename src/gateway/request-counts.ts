// Counts requests and their durations by operation, for `GET /metrics`. Operations and statuses come from
// fixed lists, so the number of counts has a bound.

/** The upper bounds of the buckets, in seconds. The last one is the deadline of a command. */
export const BUCKET_BOUNDS_S = [0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10] as const;

export interface OperationCounts {
  /** The number of requests, by HTTP status. */
  readonly statuses: Map<number, number>;
  /**
   * `buckets[i]` counts requests that took at most `BUCKET_BOUNDS_S[i]`, but longer than the bound before.
   * No bucket counts a request that took longer than the last bound.
   */
  readonly buckets: number[];
  count: number;
  /** The sum of all durations, in seconds. */
  sumS: number;
}

export class RequestCounts {
  readonly #byOperation = new Map<string, OperationCounts>();

  /**
   * `operation` is the `routeName` of the exchange (exchange.ts). `tookMs` is the time from the arrival of
   * the head until the answer or the stream begins.
   */
  note(operation: string, status: number, tookMs: number): void {
    const counts = this.#byOperation.get(operation) ?? this.#newCountsFor(operation);
    counts.statuses.set(status, (counts.statuses.get(status) ?? 0) + 1);
    const seconds = tookMs / 1000;
    counts.count += 1;
    counts.sumS += seconds;
    const bucketIndex = BUCKET_BOUNDS_S.findIndex((bound) => seconds <= bound);
    if (bucketIndex >= 0) counts.buckets[bucketIndex] = (counts.buckets[bucketIndex] ?? 0) + 1;
  }

  countsByOperation(): ReadonlyMap<string, OperationCounts> {
    return this.#byOperation;
  }

  #newCountsFor(operation: string): OperationCounts {
    const counts = { statuses: new Map(), buckets: BUCKET_BOUNDS_S.map(() => 0), count: 0, sumS: 0 };
    this.#byOperation.set(operation, counts);
    return counts;
  }
}
