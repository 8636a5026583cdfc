// Collects which records of the sound server have changed since they were last published.

/**
 * The lists have the indices of records, each once. A list mostly has one index, for which an array takes
 * less memory than a set.
 */
export interface ChangedRecords {
  hasServerChanged: boolean;
  haveSinksComeOrGone: boolean;
  /** There is no list: all sources are compared with what was published, because they are few. */
  haveSourcesChanged: boolean;
  readonly sinks: number[];
  readonly sinkInputs: number[];
  readonly cards: number[];
}

export function noChanges(): ChangedRecords {
  return {
    hasServerChanged: false,
    haveSinksComeOrGone: false,
    haveSourcesChanged: false,
    sinks: [],
    sinkInputs: [],
    cards: [],
  };
}

export function addOnce(indices: number[], index: number): void {
  if (!indices.includes(index)) indices.push(index);
}
