// Reads all objects of BlueZ until it answers, and keeps the signals that come meanwhile, which are newer
// than the answer.

import { backoffMs, type Clock, Timers } from '../../clock.js';
import { BLUEZ_METHODS } from '../../protocol/dbus/bluez.js';
import type { Signal } from '../../protocol/dbus/method.js';
import { isAbsence, sentence } from '../bus/fault.js';
import type { Bluez } from './bluez.js';
import { BluezObjects } from './objects.js';

/**
 * Signals that are kept while everything is read; a BlueZ that sends more meanwhile is read on another
 * connection.
 */
const KEPT_MAX_SIGNALS = 2_048;

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
  #kept: Signal[] | undefined;
  /** Counts readings and their ends: the answer to an earlier one is late. */
  #epoch = 0;
  #failures = 0;

  constructor(parts: ReadingParts) {
    this.#parts = parts;
    this.#timers = new Timers(parts.clock);
  }

  /** True if the signal is kept for the reading that is under way. Throws if there are too many. */
  keeps(signal: Signal): boolean {
    if (this.#kept === undefined) return false;
    this.#kept.push(signal);
    if (this.#kept.length > KEPT_MAX_SIGNALS) throw new Error('too many signals from BlueZ');
    return true;
  }

  cancel(): void {
    this.#epoch += 1;
    this.#kept = undefined;
    this.#timers.cancelAll();
  }

  async begin(): Promise<void> {
    this.cancel();
    const { bluez, clock, done, failed } = this.#parts;
    const epoch = this.#epoch;
    const kept: Signal[] = [];
    this.#kept = kept;
    const read = await bluez(BLUEZ_METHODS.getManagedObjects, []);
    if (epoch !== this.#epoch) return;
    this.#kept = undefined;
    if (read.ok) {
      this.#failures = 0;
      const objects = new BluezObjects(read.value);
      for (const signal of kept) objects.apply(signal);
      done(objects);
      return;
    }
    failed(`BlueZ does not answer: ${sentence(read.error)}`);
    // One that is absent is announced when it comes, and a lost bus is found again by its link.
    if (isAbsence(read.error) || read.error.kind === 'closed') return;
    this.#failures += 1;
    this.#timers.set('read', backoffMs(this.#failures, clock.random()), () => void this.begin());
  }
}
