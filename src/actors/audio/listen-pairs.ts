// Remembers the pairs of input and output that are desired, and those that have ended. The memory outlives
// the connections to the sound server, so that inputs are heard again after the server restarts. Pure.

import type { AudioSettings } from '../../protocol/actor/settings.js';
import {
  isSamePair,
  type ListenPair,
  type Loopback,
  loopbacksIn,
  type ObservedLoopbacks,
  pairIndices,
} from './listen-modules.js';

/** Commands add no pair while at least this many are desired. */
export const PAIRS_MAX = 8;

interface DesiredPair {
  readonly pair: ListenPair;
  /** The last known indices of input and output on this connection, in one text (`pairIndices`). */
  indices: string | undefined;
}

export class ListenPairs {
  /** Each key is the name of a configured input. Its value is the output at which the input is heard. */
  readonly #configured: AudioSettings['listen'];
  #desiredPairs: DesiredPair[];
  /** Pairs whose loopbacks are to be unloaded. */
  #ended: readonly ListenPair[] = [];
  /**
   * True when no loopback of an earlier daemon is left to take over: after `#adopt`, or when upkeep.ts has
   * found no loopback and no desired pair.
   */
  hasAdopted = false;

  constructor(listen: AudioSettings['listen']) {
    this.#configured = listen;
    this.#desiredPairs = Object.entries(listen).map(([input, output]) => ({
      pair: { input, output, origin: 'configuration' },
      indices: undefined,
    }));
  }

  get desired(): readonly ListenPair[] {
    return this.#desiredPairs.map(({ pair }) => pair);
  }

  get isFull(): boolean {
    return this.#desiredPairs.length >= PAIRS_MAX;
  }

  /** True even after a client has stopped the pair. */
  isConfigured({ input, output }: Pick<ListenPair, 'input' | 'output'>): boolean {
    return Object.hasOwn(this.#configured, input) && this.#configured[input] === output;
  }

  /**
   * To be called when a connection begins, because the server may have given the indices to other devices.
   */
  forgetIndices(): void {
    for (const desiredPair of this.#desiredPairs) desiredPair.indices = undefined;
  }

  get ended(): readonly ListenPair[] {
    return this.#ended;
  }

  /** To be called when the loopbacks of all ended pairs are gone. */
  forgetEnded(): void {
    this.#ended = [];
  }

  /** Makes the pair a desired one. `indices` are those of its input and output now, as in `DesiredPair`. */
  add(pair: ListenPair, indices: string | undefined): void {
    this.#ended = this.#ended.filter((ended) => !isSamePair(ended, pair));
    if (!this.#desiredPairs.some((desired) => isSamePair(desired.pair, pair)))
      this.#desiredPairs.push({ pair, indices });
  }

  /** Adds the pair to those whose loopbacks are to be unloaded, unless the pair is desired. */
  unloadUnlessDesired(pair: ListenPair): void {
    const isKnown = [...this.desired, ...this.#ended].some((other) => isSamePair(other, pair));
    if (!isKnown) this.#ended = this.#ended.concat(pair);
  }

  endPairs(isToEnd: (pair: ListenPair) => boolean): void {
    this.#ended = this.#ended.concat(this.desired.filter(isToEnd));
    this.#desiredPairs = this.#desiredPairs.filter(({ pair }) => !isToEnd(pair));
  }

  /**
   * The first call takes over, or ends, the loopbacks of an earlier daemon. Each call ends a pair of a
   * command if the input or the output has gone, or has another index. A pair of the configuration waits
   * until both are back.
   */
  observe(observed: ObservedLoopbacks): void {
    const loopbacks = loopbacksIn(observed);
    if (!this.hasAdopted) this.#adopt(loopbacks, observed);
    const pairsToEnd: ListenPair[] = [];
    for (const desiredPair of this.#desiredPairs) {
      const { pair, indices: indicesBefore } = desiredPair;
      const indices = pairIndices(pair, observed);
      const haveIndicesChanged = indicesBefore !== undefined && indices !== indicesBefore;
      const ownLoopbacks = loopbacks.filter((other) => isSamePair(other.pair, pair));
      const isConnected = ownLoopbacks.some(({ ends }) => ends === 'right');
      // If the input or output went before this connection, no change of indices shows that. But a loopback
      // may: it was made while input and output were both there, and PipeWire 1.4 keeps it when one of them
      // goes. So if there is a loopback, one of the two has gone in these cases:
      // - One is missing now.
      // - The loopback is not connected, and no earlier indices are known, because the connection is new.
      //   Then both may be there again.
      const hasOneGone = indices === undefined || (indicesBefore === undefined && !isConnected);
      const isLoopbackLeftOver = ownLoopbacks.length > 0 && hasOneGone;
      desiredPair.indices = indices ?? indicesBefore;
      if ((haveIndicesChanged || isLoopbackLeftOver) && !this.isConfigured(pair)) pairsToEnd.push(pair);
    }
    if (pairsToEnd.length > 0) this.endPairs((pair) => pairsToEnd.includes(pair));
  }

  /**
   * Takes over each pair that a command began, if its loopback is connected and `PAIRS_MAX` allows it. Ends
   * all other pairs that are not desired, such as those of an earlier configuration. A loopback that is not
   * connected has lost its input or output, because PipeWire 1.4 keeps a loopback whose output has gone. The
   * lost one may be there again.
   */
  #adopt(loopbacks: readonly Loopback[], observed: ObservedLoopbacks): void {
    this.hasAdopted = true;
    for (const { pair, ends } of loopbacks) {
      const isConnected = ends === 'right';
      if (pair.origin === 'command' && isConnected && !this.isFull)
        this.add(pair, pairIndices(pair, observed));
    }
    const found = loopbacks.map(({ pair }) => pair);
    const isDesired = (pair: ListenPair): boolean =>
      this.desired.some((desired) => isSamePair(desired, pair));
    this.#ended = found.filter((pair) => !isDesired(pair));
  }
}
