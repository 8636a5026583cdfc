// Decides how many signals of a bus are passed on in one turn. These signals are a portion. Other work of the
// thread waits for at most one portion. Signals keep their order, but a reply may overtake them.

/**
 * At most this many signals are passed on in one turn of the event loop. An actor takes some hundredths of a
 * millisecond for each signal.
 */
const PORTION_SIGNALS = 64;
/**
 * While the waiting signals have at least this many bytes, nothing is read from the bus, not even a reply.
 * The bus keeps its messages meanwhile. A signal of BlueZ has about 200 bytes.
 */
const WAITING_MAX_BYTES = 1 << 20;

export class SignalPortions<Signal> {
  readonly #passOn: (signal: Signal) => void;
  readonly #onNotFull: () => void;
  readonly #waitingSignals: { readonly signal: Signal; readonly bytes: number }[] = [];
  #waitingBytes = 0;
  /** How many more signals may be passed on in this turn. `#passPortionOn` sets it anew in the next turn. */
  #leftInTurn = PORTION_SIGNALS;
  #nextTurn: NodeJS.Immediate | undefined;

  /** `onNotFull` is called when `isFull` has become false, so that the bus can be read again. */
  constructor(passOn: (signal: Signal) => void, onNotFull: () => void) {
    this.#passOn = passOn;
    this.#onNotFull = onNotFull;
  }

  get isFull(): boolean {
    return this.#waitingBytes >= WAITING_MAX_BYTES;
  }

  /** Passes the signal on, now or later. */
  add(signal: Signal, bytes: number): void {
    // Even a signal that is passed on now needs the next turn, which sets `#leftInTurn` anew.
    this.#nextTurn ??= setImmediate(() => this.#passPortionOn());
    if (this.#leftInTurn === 0 || this.#waitingSignals.length > 0) {
      this.#waitingSignals.push({ signal, bytes });
      this.#waitingBytes += bytes;
      return;
    }
    this.#leftInTurn -= 1;
    this.#passOn(signal);
  }

  #passPortionOn(): void {
    const wasFull = this.isFull;
    const portion = this.#waitingSignals.splice(0, PORTION_SIGNALS);
    this.#leftInTurn = PORTION_SIGNALS - portion.length;
    // A portion makes `#leftInTurn` smaller. So the next turn must set `#leftInTurn` anew, even if no signal
    // waits then.
    this.#nextTurn = portion.length > 0 ? setImmediate(() => this.#passPortionOn()) : undefined;
    for (const { signal, bytes } of portion) {
      this.#waitingBytes -= bytes;
      this.#passOn(signal);
    }
    if (wasFull && !this.isFull) this.#onNotFull();
  }
}
