// Collects which records of the sound server have changed since they were last published.

/**
 * A list contains the indices of records, and no index twice. The lists are arrays, because most of them have
 * only one index, and a set of one index takes more memory.
 */
export interface ChangedRecords {
  /**
   * True if the server's info or a sink may have changed. Sinks count, because the server's record contains
   * the name, volume and mute of the default sink.
   */
  haveServerOrSinksChanged: boolean;
  haveSinksComeOrGone: boolean;
  /**
   * If this is true, all inputs are compared with their published records. Inputs have no list here, because
   * they are few.
   */
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
