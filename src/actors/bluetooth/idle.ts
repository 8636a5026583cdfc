// Switches the adapter off when it was not used for the time of `bluetooth.idleTimeout`.

import { type Clock, Timers } from '../../host/clock.js';

interface IdleParts {
  readonly clock: Clock;
  /** 0 means that the adapter is never switched off. */
  readonly idleTimeoutMs: number;
  readonly isIdle: () => boolean;
  /** Switches the adapter off if, when its turn comes, `isIdle` is still true. */
  readonly switchOff: (isIdle: () => boolean) => Promise<void>;
  readonly log: (message: string) => void;
}

export class IdleSwitch {
  readonly #parts: IdleParts;
  readonly #timers: Timers<'idle'>;

  constructor(parts: IdleParts) {
    this.#parts = parts;
    this.#timers = new Timers(parts.clock);
  }

  /** To be called when the adapter may have become idle, or may no longer be idle. */
  watch(): void {
    const { idleTimeoutMs, isIdle } = this.#parts;
    if (idleTimeoutMs === 0 || !isIdle()) this.cancel();
    else if (!this.#timers.has('idle')) this.#timers.set('idle', idleTimeoutMs, () => void this.#isOver());
  }

  cancel(): void {
    this.#timers.cancelAll();
  }

  #isOver(): Promise<void> {
    const { isIdle, log, switchOff } = this.#parts;
    return switchOff(() => {
      const isStillIdle = isIdle();
      if (isStillIdle) log('the Bluetooth adapter is switched off: nobody used it');
      return isStillIdle;
    });
  }
}
