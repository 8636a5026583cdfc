// Decides when the adapter is switched off: when it has been idle for the time of `bluetooth.idleTimeout`.
// automatic.ts says what idle means.

import { type Clock, Timers } from '../../host/clock.js';

interface IdleParts {
  readonly clock: Clock;
  /** 0 means that the adapter is never switched off. */
  readonly idleTimeoutMs: number;
  readonly isIdle: () => boolean;
  /** Waits for the queued commands, then switches the adapter off if it is still idle. */
  readonly switchOffIfIdle: () => Promise<void>;
}

export class IdleSwitch {
  readonly #parts: IdleParts;
  readonly #timers: Timers<'idle'>;

  constructor(parts: IdleParts) {
    this.#parts = parts;
    this.#timers = new Timers(parts.clock);
  }

  /** To be called when the adapter may have become idle, or may no longer be idle. */
  recheck(): void {
    const { idleTimeoutMs, isIdle, switchOffIfIdle } = this.#parts;
    if (idleTimeoutMs === 0 || !isIdle()) this.cancel();
    else if (!this.#timers.has('idle')) this.#timers.set('idle', idleTimeoutMs, () => void switchOffIfIdle());
  }

  cancel(): void {
    this.#timers.cancelAll();
  }
}
