// Subscribes to the signals of one player's connection. If too many signals come, the subscription ends, and
// begins again after a pause.

import { type Clock, RateLimit, Timers } from '../../host/clock.js';
import { playerSignals } from '../../protocol/dbus/mpris.js';
import type { Bus } from '../bus/bus.js';

/** A player in use sends about ten signals in a second. Each signal costs the backend 0.1 ms. */
const SIGNALS_MAX_PER_SECOND = 200;
/** The time between the end of the subscription and its new beginning. */
const PAUSE_MS = 1_000;

export class PlayerSignals {
  readonly #owner: string;
  readonly #bus: Pick<Bus<'players'>, 'watch' | 'unwatch'>;
  readonly #clock: Clock;
  readonly #onResumed: () => void;
  readonly #timers: Timers<'pause'>;
  readonly #limit = new RateLimit(SIGNALS_MAX_PER_SECOND);

  /**
   * `owner`: the unique name of the player's connection. `onResumed`: called when the subscription begins
   * again. Signals may have been missed in the pause.
   */
  constructor(
    owner: string,
    bus: Pick<Bus<'players'>, 'watch' | 'unwatch'>,
    clock: Clock,
    onResumed: () => void,
  ) {
    this.#owner = owner;
    this.#bus = bus;
    this.#clock = clock;
    this.#onResumed = onResumed;
    this.#timers = new Timers(clock);
    void bus.watch(playerSignals(owner));
  }

  /** To be called for each signal. False if the caller must ignore the signal. */
  admit(): boolean {
    if (this.#timers.has('pause')) return false;
    if (this.#limit.admit(this.#clock.monotonic())) return true;
    void this.#bus.unwatch(playerSignals(this.#owner));
    this.#timers.set('pause', PAUSE_MS, () => {
      void this.#bus.watch(playerSignals(this.#owner));
      this.#onResumed();
    });
    return false;
  }

  stop(): void {
    this.#timers.cancelAll();
    void this.#bus.unwatch(playerSignals(this.#owner));
  }
}
