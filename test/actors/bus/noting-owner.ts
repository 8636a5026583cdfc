// An actor's side of a bus, for tests: it notes all notifications, and lets a test wait for one.

import { EventEmitter, once } from 'node:events';
import type { BusOwner } from '../../../src/actors/bus/bus.js';
import type { Signal } from '../../../src/protocol/dbus/method.js';

const DEADLINE_MS = 60_000;

export class NotingOwner implements BusOwner {
  readonly notes: string[] = [];
  readonly signals: Signal[] = [];
  /** Called by `up` before the note. */
  onUp: () => Promise<void> = () => Promise.resolve();
  /** Called by `signal` before the note. */
  onSignal: (signal: Signal) => void = () => undefined;
  readonly #changed = new EventEmitter();

  async up(): Promise<void> {
    await this.onUp();
    this.#note('up');
  }

  down(reason: string): void {
    this.#note(`down: ${reason}`);
  }

  signal(signal: Signal): void {
    this.signals.push(signal);
    this.onSignal(signal);
    this.#note(`signal: ${signal.member}`);
  }

  ownerChanged(name: string, owned: boolean): void {
    this.#note(`owner of ${name}: ${owned}`);
  }

  #note(note: string): void {
    this.notes.push(note);
    this.#changed.emit('note');
  }

  /** Resolves with the index of the first matching note at or after `from`. */
  async noted(pattern: RegExp, from = 0): Promise<number> {
    const signal = AbortSignal.timeout(DEADLINE_MS);
    for (;;) {
      const found = this.notes.findIndex((note, index) => index >= from && pattern.test(note));
      if (found >= 0) return found;
      await once(this.#changed, 'note', { signal }).catch((cause: unknown) => {
        throw new Error(`never noted ${pattern}; noted were: ${JSON.stringify(this.notes)}`, { cause });
      });
    }
  }
}
