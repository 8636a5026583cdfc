// Collects which records of the sound server have changed since they were last published.

/**
 * The indices of records that have changed, each once. Mostly there is one, for which an array takes less
 * than a set.
 */
export class ChangedRecords {
  server = false;
  sinksCameOrWent = false;
  readonly sinks: number[] = [];
  readonly inputs: number[] = [];
  readonly cards: number[] = [];
  /** True if some input has changed. Inputs are few, so all of them are compared. */
  sources = false;
}

/** Adds an index that is not there yet. */
export function add(indices: number[], index: number): void {
  if (!indices.includes(index)) indices.push(index);
}
