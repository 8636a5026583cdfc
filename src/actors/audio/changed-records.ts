// Collects which records of the sound server have changed since they were last published.

/**
 * The lists contain the indices of records, each once. They are arrays, because most lists have only one
 * index, and a set of one index takes more memory.
 */
export interface ChangedRecords {
  /**
   * True if the server's info or a sink may have changed. Sinks count, because the server's record has the
   * volume of the default sink.
   */
  haveServerOrSinksChanged: boolean;
  haveSinksComeOrGone: boolean;
  /** Inputs are few and have no list. If true, all of them are compared with their published records. */
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
