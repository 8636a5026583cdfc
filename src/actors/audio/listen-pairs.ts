// Remembers which inputs are to be heard at which outputs (the desired pairs), and which pairs have ended.
// The memory outlives the connections to the sound server, so that inputs are heard again after the server
// restarts. Pure.

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

  /** True if the configuration lists the pair, even after a client has stopped it. */
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
   * The first call takes over, or ends, the loopbacks of an earlier daemon. Each call ends a pair that is not
   * configured, if its input or output has gone or has another index. A configured pair waits until its input
   * and output are there.
   */
  observe(observed: ObservedLoopbacks): void {
    const loopbacks = loopbacksIn(observed);
    if (!this.hasAdopted) this.#adopt(loopbacks, observed);
    const pairsToEnd: ListenPair[] = [];
    for (const desiredPair of this.#desiredPairs) {
      const { pair, indices: indicesBefore } = desiredPair;
      const indices = pairIndices(pair, observed);
      const haveIndicesChanged = indicesBefore !== undefined && indices !== indicesBefore;
      const loopbacksOfPair = loopbacks.filter((other) => isSamePair(other.pair, pair));
      const hasRightEnds = loopbacksOfPair.some(({ ends }) => ends === 'right');
      // If the input or output went before this connection, the indices do not show that. A loopback of the
      // pair may show it: the loopback was made while both were there, and PipeWire 1.4 keeps it when one of
      // them goes. If the pair has a loopback, the input or output has gone in these cases:
      // - One of them is missing now.
      // - No loopback of the pair has the right ends, and no earlier indices are known, because the
      //   connection is new. Both may be there again.
      const hasOneGone = indices === undefined || (indicesBefore === undefined && !hasRightEnds);
      const isLoopbackLeftOver = loopbacksOfPair.length > 0 && hasOneGone;
      desiredPair.indices = indices ?? indicesBefore;
      if ((haveIndicesChanged || isLoopbackLeftOver) && !this.isConfigured(pair)) pairsToEnd.push(pair);
    }
    if (pairsToEnd.length > 0) this.endPairs((pair) => pairsToEnd.includes(pair));
  }

  /**
   * Takes over each pair that a command began, if a loopback of the pair has the right ends (`LoopbackEnds`),
   * and `PAIRS_MAX` allows the pair. Ends all other pairs that have a loopback and are not desired, such as
   * those of an earlier configuration. A loopback without the right ends has lost its input or output, and
   * listening ends then (docs/http-api.md, "Listening"). PipeWire 1.4 keeps such a loopback, even if the
   * input or output is there again.
   */
  #adopt(loopbacks: readonly Loopback[], observed: ObservedLoopbacks): void {
    this.hasAdopted = true;
    for (const { pair, ends } of loopbacks) {
      const hasRightEnds = ends === 'right';
      if (pair.origin === 'command' && hasRightEnds && !this.isFull)
        this.add(pair, pairIndices(pair, observed));
    }
    const foundPairs = loopbacks.map(({ pair }) => pair);
    const isDesired = (pair: ListenPair): boolean =>
      this.desired.some((desired) => isSamePair(desired, pair));
    this.#ended = foundPairs.filter((pair) => !isDesired(pair));
  }
}
