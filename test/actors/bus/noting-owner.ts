// An actor's side of a bus, for tests: it notes all notifications, and lets a test wait for one.

import type { BusOwner } from '../../../src/actors/bus/bus.js';
import type { Signal } from '../../../src/protocol/dbus/method.js';
import { until } from '../../until.js';

export class NotingOwner implements BusOwner {
  readonly notes: string[] = [];
  readonly signals: Signal[] = [];
  /** Called by `up` before the note. */
  onUp: () => Promise<void> = () => Promise.resolve();
  /** Called by `signal` before the note. */
  onSignal: (signal: Signal) => void = () => undefined;

  async up(): Promise<void> {
    await this.onUp();
    this.notes.push('up');
  }

  down(reason: string): void {
    this.notes.push(`down: ${reason}`);
  }

  signal(signal: Signal): void {
    this.signals.push(signal);
    this.onSignal(signal);
    this.notes.push(`signal: ${signal.member}`);
  }

  ownerChanged(name: string, owned: boolean): void {
    this.notes.push(`owner of ${name}: ${owned}`);
  }

  /** Resolves with the index of the first matching note at or after `from`. */
  noted(pattern: RegExp, from = 0): Promise<number> {
    return until(`${pattern} is noted behind ${from} of the notes`, () => {
      const found = this.notes.findIndex((note, index) => index >= from && pattern.test(note));
      if (found < 0) throw new Error(JSON.stringify(this.notes));
      return found;
    });
  }
}
