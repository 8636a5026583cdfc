// Reads all objects of BlueZ, again until it answers. Signals that come meanwhile are queued, because they
// are newer than the answer.

import { backoffMs, type Clock, Timers } from '../../host/clock.js';
import { BLUEZ_METHODS } from '../../protocol/dbus/bluez.js';
import type { Signal } from '../../protocol/dbus/method.js';
import { isAbsence, sentence } from '../bus/fault.js';
import type { Bluez } from './bluez.js';
import { BluezObjects } from './objects.js';

/**
 * The most signals that are queued while everything is read. If BlueZ sends more, it is read again on another
 * connection.
 */
const QUEUED_MAX_SIGNALS = 2_048;

interface ReadingParts {
  readonly bluez: Bluez;
  readonly clock: Clock;
  readonly done: (objects: BluezObjects) => void;
  readonly failed: (reason: string) => void;
}

export class BluezReading {
  readonly #parts: ReadingParts;
  readonly #timers: Timers<'read'>;
  /** Undefined while nothing is read. */
  #queued: Signal[] | undefined;
  /** Counts readings and their ends: the answer to an earlier reading is ignored. */
  #epoch = 0;
  #failures = 0;

  constructor(parts: ReadingParts) {
    this.#parts = parts;
    this.#timers = new Timers(parts.clock);
  }

  /** True if the signal is queued for the reading that is under way. Throws if there are too many. */
  queues(signal: Signal): boolean {
    if (this.#queued === undefined) return false;
    this.#queued.push(signal);
    if (this.#queued.length > QUEUED_MAX_SIGNALS) throw new Error('too many signals from BlueZ');
    return true;
  }

  cancel(): void {
    this.#epoch += 1;
    this.#queued = undefined;
    this.#timers.cancelAll();
  }

  async begin(): Promise<void> {
    this.cancel();
    const { bluez, clock, done, failed } = this.#parts;
    const epoch = this.#epoch;
    const queued: Signal[] = [];
    this.#queued = queued;
    const read = await bluez(BLUEZ_METHODS.getManagedObjects, []);
    if (epoch !== this.#epoch) return;
    this.#queued = undefined;
    if (read.ok) {
      this.#failures = 0;
      const objects = new BluezObjects(read.value);
      for (const signal of queued) objects.apply(signal);
      done(objects);
      return;
    }
    failed(`BlueZ does not answer: ${sentence(read.error)}`);
    // A BlueZ that is absent is announced when it comes, and a lost bus is connected again by its link.
    if (isAbsence(read.error) || read.error.kind === 'closed') return;
    this.#failures += 1;
    this.#timers.set('read', backoffMs(this.#failures, clock.random()), () => void this.begin());
  }
}
