// Holds which inputs are to be heard at which outputs. It outlives the connections to the sound server: a
// pair that was desired before the server's restart is desired after it. Pure.

import type { AudioSettings } from '../../protocol/actor/settings.js';
import {
  devicesOf,
  isSamePair,
  type ListenPair,
  loopbacksIn,
  type ObservedLoopbacks,
} from './listen-modules.js';

export const PAIRS_MAX = 8;

interface DesiredPair {
  readonly pair: ListenPair;
  /** The indices of the input and output at which it was observed on this connection. */
  devices: string | undefined;
}

export class ListenPairs {
  readonly #configured: AudioSettings['listen'];
  #desired: DesiredPair[];
  /** Pairs whose loopbacks are to go. */
  #ended: readonly ListenPair[] = [];
  /** False until the loopbacks of an earlier life of the daemon have been taken over, or there were none. */
  hasAdopted = false;

  constructor(listen: AudioSettings['listen']) {
    this.#configured = listen;
    this.#desired = Object.entries(listen).map(([input, output]) => ({
      pair: { input, output, origin: 'configuration' },
      devices: undefined,
    }));
  }

  get all(): readonly ListenPair[] {
    return this.#desired.map(({ pair }) => pair);
  }

  get isFull(): boolean {
    return this.#desired.length >= PAIRS_MAX;
  }

  /** To be called when a connection begins: indices of another life of the server mean nothing. */
  begin(): void {
    for (const desired of this.#desired) desired.devices = undefined;
  }

  get ended(): readonly ListenPair[] {
    return this.#ended;
  }

  /** To be called when the loopbacks of all ended pairs are gone. */
  forgetEnded(): void {
    this.#ended = [];
  }

  add(pair: ListenPair): void {
    this.#ended = this.#ended.filter((each) => !isSamePair(each, pair));
    if (!this.#desired.some((each) => isSamePair(each.pair, pair)))
      this.#desired.push({ pair, devices: undefined });
  }

  remove(isGone: (pair: ListenPair) => boolean): void {
    this.#ended = [...this.#ended, ...this.all.filter(isGone)];
    this.#desired = this.#desired.filter(({ pair }) => !isGone(pair));
  }

  /**
   * Takes over the pairs that commands have begun in an earlier life of the daemon, and ends pairs of
   * commands whose input or output has gone; a pair of the configuration waits for it.
   */
  observe(observed: ObservedLoopbacks): void {
    if (!this.hasAdopted) this.#adopt(loopbacksIn(observed).map(({ pair }) => pair));
    const gone: ListenPair[] = [];
    for (const desired of this.#desired) {
      const devices = devicesOf(desired.pair, observed);
      const isOther = desired.devices !== undefined && devices !== desired.devices;
      desired.devices = devices ?? desired.devices;
      if (isOther && !this.#isConfigured(desired.pair)) gone.push(desired.pair);
    }
    if (gone.length > 0) this.remove((pair) => gone.includes(pair));
  }

  /** Pairs that only an earlier configuration had end. */
  #adopt(found: readonly ListenPair[]): void {
    this.hasAdopted = true;
    const byCommand = found.filter(({ origin }) => origin === 'command');
    for (const pair of byCommand.slice(0, PAIRS_MAX - this.#desired.length)) this.add(pair);
    const isDesired = (pair: ListenPair): boolean => this.all.some((each) => isSamePair(each, pair));
    this.#ended = found.filter((pair) => !isDesired(pair));
  }

  #isConfigured({ input, output }: ListenPair): boolean {
    return Object.hasOwn(this.#configured, input) && this.#configured[input] === output;
  }
}
