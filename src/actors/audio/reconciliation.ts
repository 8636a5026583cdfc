// Reads everything again once in a while, because events may be lost. It also decides when a connection that
// names no default output is replaced by another one.

import { type Clock, Timers } from '../../host/clock.js';
import type { SoundConnection } from './connection.js';
import type { SoundState } from './state.js';

/**
 * The connection to a server that never names a default output is replaced once in that many rounds at least.
 */
const PATIENCE_MAX_ROUNDS = 64;

/** For all connections, one after the other. */
export class Reconciliation {
  readonly #timers: Timers<'round'>;
  readonly #everyMs: number;
  #roundsWithoutDefault = 0;
  #patienceRounds = 1;

  constructor(clock: Clock, everyMs: number) {
    this.#timers = new Timers(clock);
    this.#everyMs = everyMs;
  }

  /** To be called when everything has been published once. */
  begin(connection: SoundConnection): void {
    this.#timers.set('round', this.#everyMs, () => {
      this.begin(connection);
      if (this.#lacksDefault(connection.state))
        connection.close({ kind: 'transport-failed', detail: 'it names no default output' });
      else connection.readAll();
    });
  }

  /** To be called when the connection has ended. */
  end(): void {
    this.#timers.cancel('round');
  }

  /**
   * True if the connection is to be replaced because it has no default output. PipeWire's server answers each
   * connection by the events of that connection's own client, and now and then misses one for good; to
   * another connection it names the default. The patience doubles each time, because a server without a
   * session manager has none.
   */
  #lacksDefault(state: SoundState): boolean {
    const hasDefault = state.sinks.size === 0 || state.defaultSink() !== undefined;
    this.#roundsWithoutDefault = hasDefault ? 0 : this.#roundsWithoutDefault + 1;
    if (hasDefault) this.#patienceRounds = 1;
    if (this.#roundsWithoutDefault < this.#patienceRounds) return false;
    this.#patienceRounds = Math.min(this.#patienceRounds * 2, PATIENCE_MAX_ROUNDS);
    this.#roundsWithoutDefault = 0;
    return true;
  }
}
