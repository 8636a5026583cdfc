// Has everything read again once a minute, because events may be lost. It also decides when a connection on
// which the server reports no default output is replaced by another one.

import { type Clock, Timers } from '../../host/clock.js';
import type { SoundConnection } from './connection.js';
import type { SoundState } from './state.js';

/**
 * A connection without a default output is replaced after at most this many rounds (see `#isToBeReplaced`).
 */
const PATIENCE_MAX_ROUNDS = 64;

/** One for all connections, which follow one another. */
export class Reconciliation {
  readonly #timers: Timers<'round'>;
  readonly #everyMs: number;
  #roundsWithoutDefault = 0;
  #patienceRounds = 1;

  constructor(clock: Clock, everyMs: number) {
    this.#timers = new Timers(clock);
    this.#everyMs = everyMs;
  }

  /** To be called when everything has been published for the first time on the connection. */
  begin(connection: SoundConnection): void {
    this.#timers.set('round', this.#everyMs, () => {
      this.begin(connection);
      if (this.#isToBeReplaced(connection.state))
        connection.close({ kind: 'transport-failed', detail: 'it names no default output' });
      else connection.readAll();
    });
  }

  /** To be called when the connection has ended. */
  end(): void {
    this.#timers.cancel('round');
  }

  /**
   * To be called once in each round. True if there has been no default output for too many rounds.
   * PipeWire's server answers from the events that it has got for this one connection. If it has missed the
   * event of the default, only another connection helps. The number of rounds doubles each time, because a
   * server without a session manager has no default on any connection.
   */
  #isToBeReplaced(state: SoundState): boolean {
    const hasDefault = state.sinks.size === 0 || state.defaultSink() !== undefined;
    this.#roundsWithoutDefault = hasDefault ? 0 : this.#roundsWithoutDefault + 1;
    if (hasDefault) this.#patienceRounds = 1;
    if (this.#roundsWithoutDefault < this.#patienceRounds) return false;
    this.#patienceRounds = Math.min(this.#patienceRounds * 2, PATIENCE_MAX_ROUNDS);
    this.#roundsWithoutDefault = 0;
    return true;
  }
}
