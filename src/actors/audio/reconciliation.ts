// Makes a connection read everything again in regular rounds, because events may be lost. If the server has
// sinks but reports no default output, this file also decides when the connection is closed, so that a new
// one is made.

import { type Clock, Timers } from '../../host/clock.js';
import type { SoundConnection } from './connection.js';

/** A connection without a default output is replaced after at most this many rounds. */
const ROUNDS_BEFORE_REPLACING_MAX = 64;

/** One object serves all connections, one after the other. */
export class Reconciliation {
  readonly #timers: Timers<'round'>;
  readonly #roundMs: number;
  #roundsWithoutDefault = 0;
  #roundsBeforeReplacing = 1;

  constructor(clock: Clock, roundMs: number) {
    this.#timers = new Timers(clock);
    this.#roundMs = roundMs;
  }

  /**
   * To be called when everything has been published for the first time on the connection. Each round calls
   * this method again for the next round.
   */
  begin(connection: SoundConnection): void {
    this.#timers.set('round', this.#roundMs, () => {
      // The next round is planned first, because `#endRound` may close the connection, and `end` then
      // cancels the planned round.
      this.begin(connection);
      this.#endRound(connection);
    });
  }

  /** To be called when the connection has ended. */
  end(): void {
    this.#timers.cancel('round');
  }

  /**
   * Reads everything again, or closes a connection that has had no default output for too many rounds.
   * pipewire-pulse learns the default output by an event of PipeWire, separately for each connection
   * (docs/development/what-we-learnt.md, "PulseAudio and PipeWire"). If it misses the event for one
   * connection, only a new connection helps. But a server without a session manager has no default output on
   * any connection. So that such a server gets few new connections, each connection stays for twice as many
   * rounds as the one before, up to `ROUNDS_BEFORE_REPLACING_MAX`.
   */
  #endRound(connection: SoundConnection): void {
    const { state } = connection;
    const lacksDefault = state.sinks.size > 0 && state.defaultSink() === undefined;
    if (!lacksDefault) {
      this.#roundsWithoutDefault = 0;
      this.#roundsBeforeReplacing = 1;
      connection.readAll();
      return;
    }
    this.#roundsWithoutDefault += 1;
    if (this.#roundsWithoutDefault < this.#roundsBeforeReplacing) {
      connection.readAll();
      return;
    }
    this.#roundsBeforeReplacing = Math.min(this.#roundsBeforeReplacing * 2, ROUNDS_BEFORE_REPLACING_MAX);
    this.#roundsWithoutDefault = 0;
    connection.close({ kind: 'transport-failed', detail: 'it names no default output' });
  }
}
