// Collects which records of the sound server have changed since they were last published.

/**
 * The lists contain the indices of records, each once. They are arrays, because most lists have only one
 * index, and a set of one index takes more memory.
 */
export interface ChangedRecords {
  /** True if the server's info or a sink may have changed. The server's record also has the default sink. */
  haveServerOrSinksChanged: boolean;
  haveSinksComeOrGone: boolean;
  /** If true, all inputs are compared with their published records, because inputs are few. */
  mayInputsHaveChanged: boolean;
  readonly sinks: number[];
  readonly sinkInputs: number[];
  readonly cards: number[];
}

export function noChanges(): ChangedRecords {
  return {
    haveServerOrSinksChanged: false,
    haveSinksComeOrGone: false,
    mayInputsHaveChanged: false,
    sinks: [],
    sinkInputs: [],
    cards: [],
  };
}

export function addOnce(indices: number[], index: number): void {
  if (!indices.includes(index)) indices.push(index);
}
