// Remembers which inputs are to be heard at which outputs, and which of these pairs have ended. The memory
// outlives the connections to the sound server, so that a restart of the server changes nothing. Pure.

import type { AudioSettings } from '../../protocol/actor/settings.js';
import {
  isSamePair,
  type ListenPair,
  loopbacksIn,
  type ObservedLoopbacks,
  pairIndices,
} from './listen-modules.js';

export const PAIRS_MAX = 8;

interface DesiredPair {
  readonly pair: ListenPair;
  /** The last known indices of input and output on this connection (see `pairIndices`). */
  indices: string | undefined;
}

export class ListenPairs {
  /** The output of each configured input, by names. */
  readonly #configured: AudioSettings['listen'];
  #desiredPairs: DesiredPair[];
  /** Pairs whose loopbacks are to be unloaded. */
  #ended: readonly ListenPair[] = [];
  /** False until the loopbacks of an earlier life of the daemon have been taken over, or none were found. */
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

  add(pair: ListenPair): void {
    this.#ended = this.#ended.filter((ended) => !isSamePair(ended, pair));
    if (!this.#desiredPairs.some((desired) => isSamePair(desired.pair, pair)))
      this.#desiredPairs.push({ pair, indices: undefined });
  }

  endPairs(isToEnd: (pair: ListenPair) => boolean): void {
    this.#ended = this.#ended.concat(this.desired.filter(isToEnd));
    this.#desiredPairs = this.#desiredPairs.filter(({ pair }) => !isToEnd(pair));
  }

  /**
   * The first call takes over the pairs that commands began in an earlier life of the daemon. Each call ends
   * the pairs of commands whose input or output is gone, or has another index. A pair of the configuration
   * waits until both are back.
   */
  observe(observed: ObservedLoopbacks): void {
    if (!this.hasAdopted) this.#adopt(loopbacksIn(observed).map(({ pair }) => pair));
    const pairsToEnd: ListenPair[] = [];
    for (const desiredPair of this.#desiredPairs) {
      const { pair, indices: indicesBefore } = desiredPair;
      const indices = pairIndices(pair, observed);
      const haveChanged = indicesBefore !== undefined && indices !== indicesBefore;
      desiredPair.indices = indices ?? indicesBefore;
      if (haveChanged && !this.#isConfigured(pair)) pairsToEnd.push(pair);
    }
    if (pairsToEnd.length > 0) this.endPairs((pair) => pairsToEnd.includes(pair));
  }

  /** Takes over the pairs of commands, and ends the pairs that only an earlier configuration had. */
  #adopt(found: readonly ListenPair[]): void {
    this.hasAdopted = true;
    const begunByCommand = found.filter(({ origin }) => origin === 'command');
    const roomLeft = PAIRS_MAX - this.#desiredPairs.length;
    for (const pair of begunByCommand.slice(0, roomLeft)) this.add(pair);
    const isDesired = (pair: ListenPair): boolean =>
      this.desired.some((desired) => isSamePair(desired, pair));
    this.#ended = found.filter((pair) => !isDesired(pair));
  }

  #isConfigured({ input, output }: ListenPair): boolean {
    return Object.hasOwn(this.#configured, input) && this.#configured[input] === output;
  }
}
