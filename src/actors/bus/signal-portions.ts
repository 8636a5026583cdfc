// Decides how many of a bus's signals are passed on in one turn, so that a reply, or other work of the
// thread, waits for one portion at most. Signals keep their order, and replies may overtake them. While too
// many signals wait, nothing is read, and a reply waits for that, too.

/**
 * How many signals are passed on in one turn of the event loop. An actor takes some hundredths of a
 * millisecond for each.
 */
const PORTION_SIGNALS = 64;
/**
 * While this many bytes of signals wait, nothing is read from the bus, which then keeps its messages. A
 * signal of BlueZ has 200 bytes.
 */
const WAITING_MAX_BYTES = 1 << 20;

export class SignalPortions<Signal> {
  readonly #passOn: (signal: Signal) => void;
  readonly #onRoom: () => void;
  readonly #waiting: { readonly signal: Signal; readonly bytes: number }[] = [];
  #waitingBytes = 0;
  /** How many more signals may be passed on before the timer `#nextTurn` sets this back. */
  #leftInTurn = PORTION_SIGNALS;
  #nextTurn: NodeJS.Immediate | undefined;

  /** `onRoom` is called when `isFull` is no longer true, so that the owner can read from the bus again. */
  constructor(passOn: (signal: Signal) => void, onRoom: () => void) {
    this.#passOn = passOn;
    this.#onRoom = onRoom;
  }

  get isFull(): boolean {
    return this.#waitingBytes >= WAITING_MAX_BYTES;
  }

  /** Passes the signal on, now or later. Signals keep their order. */
  add(signal: Signal, bytes: number): void {
    this.#nextTurn ??= setImmediate(() => this.#passPortionOn());
    if (this.#leftInTurn === 0 || this.#waiting.length > 0) {
      this.#waiting.push({ signal, bytes });
      this.#waitingBytes += bytes;
      return;
    }
    this.#leftInTurn -= 1;
    this.#passOn(signal);
  }

  #passPortionOn(): void {
    const wasFull = this.isFull;
    const portion = this.#waiting.splice(0, PORTION_SIGNALS);
    this.#leftInTurn = PORTION_SIGNALS - portion.length;
    this.#nextTurn = portion.length > 0 ? setImmediate(() => this.#passPortionOn()) : undefined;
    for (const { signal, bytes } of portion) {
      this.#waitingBytes -= bytes;
      this.#passOn(signal);
    }
    if (wasFull && !this.isFull) this.#onRoom();
  }
}
