// Stands in for an actor that owns a bus: it notes what the bus reports, and lets a test wait for a note.

import type { BusOwner } from '../../../src/actors/bus/bus.js';
import type { Signal } from '../../../src/protocol/dbus/method.js';
import { until } from '../../until.js';

export class NotingOwner implements BusOwner {
  readonly notes: string[] = [];
  readonly signals: Signal[] = [];
  /** Runs before `up` is in `notes`. */
  onUp: () => Promise<void> = () => Promise.resolve();
  /** Runs after a signal is in `signals`, and before it is in `notes`. */
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

  ownerChanged(name: string, isOwned: boolean): void {
    this.notes.push(`owner of ${name}: ${isOwned}`);
  }

  /** Resolves with the index of the first matching note at or after `from`. */
  waitForNote(pattern: RegExp, from = 0): Promise<number> {
    return until(`${pattern} is among the notes from index ${from} on`, () => {
      const found = this.notes.findIndex((note, index) => index >= from && pattern.test(note));
      // If the wait fails, `until` reports this error, so the notes are in the report.
      if (found < 0) throw new Error(JSON.stringify(this.notes));
      return found;
    });
  }
}
