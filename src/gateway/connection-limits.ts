// How many connections there may be: as many as the configuration has use for, and no more than the process can hold. Out of
// descriptors the main thread would spin in accept and answer nobody (measured). Pure.

/** For requests, when every stream that is allowed is open. */
const CONNECTIONS_BESIDE_STREAMS = 512;
/** What all else may hold open: the upgrade actor's 2048 progress connections, buses, files, threads (31 at rest, measured). */
const OTHER_DESCRIPTORS = 2304;

export interface ConnectionLimits {
  readonly connections: number;
  readonly streams: number;
}

/** `streamsWanted` is `api.sse.maxClients`; `descriptorsMax` what the process may hold open, infinite where nobody says. */
export function connectionLimits(streamsWanted: number, descriptorsMax: number): ConnectionLimits {
  const wanted = streamsWanted + CONNECTIONS_BESIDE_STREAMS;
  const connections = Math.min(wanted, remaining(descriptorsMax, OTHER_DESCRIPTORS));
  return {
    connections,
    streams: Math.min(streamsWanted, remaining(connections, CONNECTIONS_BESIDE_STREAMS)),
  };
}

/** What is left when others have their share, which is at most half. */
function remaining(whole: number, forOthers: number): number {
  return Math.max(whole - forOthers, Math.floor(whole / 2));
}

/** Counts the connections that are open, and says which is one too many. */
export class ConnectionCount {
  readonly #max: number;
  readonly #onFull: () => void;
  #open = 0;
  #isFull = false;

  /** `onFull` is called once in a spell of too many, which lasts until half of them have gone. */
  constructor(max: number, onFull: () => void) {
    this.#max = max;
    this.#onFull = onFull;
  }

  /** False: it must be closed, and will be counted by `closed` too. */
  opened(): boolean {
    this.#open += 1;
    if (this.#open <= this.#max) return true;
    if (!this.#isFull) this.#onFull();
    this.#isFull = true;
    return false;
  }

  closed(): void {
    this.#open -= 1;
    if (this.#open <= this.#max / 2) this.#isFull = false;
  }
}
