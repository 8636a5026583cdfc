// Reads all objects of BlueZ, and decides when to read them again after a failure. Signals during a reading
// may be newer than the reply, so they are queued, and applied after the reply.

import { backoffMs, type Clock, Timers } from '../../host/clock.js';
import { BLUEZ_METHODS } from '../../protocol/dbus/bluez.js';
import type { Signal } from '../../protocol/dbus/method.js';
import { busErrorText, isAbsence } from '../bus/fault.js';
import type { Bluez } from './bluez.js';
import { BluezObjects } from './objects.js';

/**
 * How many signals may be queued during a reading. If BlueZ sends more, the connection to the bus is given
 * up, and everything is read on a new connection.
 */
const QUEUED_MAX_SIGNALS = 2_048;

interface ReadingParts {
  readonly bluez: Bluez;
  readonly clock: Clock;
  readonly onRead: (objects: BluezObjects) => void;
  /** Called after each reading that fails. */
  readonly onFailure: (reason: string) => void;
}

export class BluezReading {
  readonly #parts: ReadingParts;
  readonly #timers: Timers<'read'>;
  /** Undefined while no reading is under way. */
  #queued: Signal[] | undefined;
  /** Counts readings and cancellations, so that the answer to an earlier reading is ignored. */
  #epoch = 0;
  #failures = 0;

  constructor(parts: ReadingParts) {
    this.#parts = parts;
    this.#timers = new Timers(parts.clock);
  }

  /**
   * Queues the signal if a reading is under way. `full`: too many signals are queued, so the connection must
   * be given up.
   */
  queueDuringReading(signal: Signal): 'queued' | 'not reading' | 'full' {
    if (this.#queued === undefined) return 'not reading';
    if (this.#queued.length >= QUEUED_MAX_SIGNALS) return 'full';
    this.#queued.push(signal);
    return 'queued';
  }

  cancel(): void {
    this.#epoch += 1;
    this.#queued = undefined;
    this.#timers.cancelAll();
  }

  async begin(): Promise<void> {
    this.cancel();
    const { bluez, clock, onRead, onFailure } = this.#parts;
    const epoch = this.#epoch;
    const queued: Signal[] = [];
    this.#queued = queued;
    const reply = await bluez(BLUEZ_METHODS.getManagedObjects, []);
    if (epoch !== this.#epoch) return;
    this.#queued = undefined;
    if (reply.ok) {
      this.#failures = 0;
      const objects = new BluezObjects(reply.value);
      for (const signal of queued) objects.apply(signal);
      onRead(objects);
      return;
    }
    onFailure(`BlueZ does not answer: ${busErrorText(reply.error)}`);
    // No timer is needed if BlueZ is not running, or if the connection to the bus is closed. The next
    // reading begins when the bus announces that BlueZ has started, or when `Bus` has a new connection.
    if (isAbsence(reply.error) || reply.error.kind === 'closed') return;
    this.#failures += 1;
    this.#timers.set('read', backoffMs(this.#failures, clock.random()), () => void this.begin());
  }
}
