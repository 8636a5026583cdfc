// Subscribes to the signals of one player's connection, and decides when they are so many that the
// subscription is ended for a moment.

import { type Clock, RateLimit, Timers } from '../../host/clock.js';
import { playerSignals } from '../../protocol/dbus/mpris.js';
import type { Bus } from '../bus/bus.js';

/**
 * Signals of one player in a second. A player in use sends some ten; each costs a tenth of a millisecond.
 */
const SIGNALS_MAX = 200;
/** How long the subscription is ended after more signals. */
const REST_MS = 1_000;

export class PlayerSignals {
  readonly #owner: string;
  readonly #bus: Pick<Bus<'players'>, 'watch' | 'unwatch'>;
  readonly #clock: Clock;
  readonly #onRested: () => void;
  readonly #timers: Timers<'rest'>;
  readonly #limit = new RateLimit(SIGNALS_MAX);

  /** `onRested`: called when the subscription has begun again. Signals may have been missed meanwhile. */
  constructor(
    owner: string,
    bus: Pick<Bus<'players'>, 'watch' | 'unwatch'>,
    clock: Clock,
    onRested: () => void,
  ) {
    this.#owner = owner;
    this.#bus = bus;
    this.#clock = clock;
    this.#onRested = onRested;
    this.#timers = new Timers(clock);
    void bus.watch(playerSignals(owner));
  }

  /** To be called for each signal; false if it is to be ignored. */
  admits(): boolean {
    if (this.#timers.has('rest')) return false;
    if (this.#limit.admits(this.#clock.monotonic())) return true;
    void this.#bus.unwatch(playerSignals(this.#owner));
    this.#timers.set('rest', REST_MS, () => {
      void this.#bus.watch(playerSignals(this.#owner));
      this.#onRested();
    });
    return false;
  }

  stop(): void {
    this.#timers.cancelAll();
    void this.#bus.unwatch(playerSignals(this.#owner));
  }
}
