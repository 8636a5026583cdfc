// Passes a bus's signals on in portions, so that in a flood of them neither replies nor the thread's other
// work wait for all.

/**
 * These are passed on in one turn of the event loop. An actor takes some hundredths of a millisecond for
 * each.
 */
const PORTION_SIGNALS = 64;
/** While so much waits nothing is read, and the bus keeps what comes. A signal of BlueZ has 200 bytes. */
const WAITING_MAX_BYTES = 1 << 20;

export class SignalPortions<Signal> {
  readonly #pass: (signal: Signal) => void;
  readonly #roomAgain: () => void;
  readonly #waiting: { readonly signal: Signal; readonly bytes: number }[] = [];
  #waitingBytes = 0;
  /** How many more may be passed on in this turn. */
  #left = PORTION_SIGNALS;
  #nextTurn: NodeJS.Immediate | undefined;

  /** `roomAgain` is called when it is no longer full. */
  constructor(pass: (signal: Signal) => void, roomAgain: () => void) {
    this.#pass = pass;
    this.#roomAgain = roomAgain;
  }

  get isFull(): boolean {
    return this.#waitingBytes >= WAITING_MAX_BYTES;
  }

  /** Signals keep their order. */
  take(signal: Signal, bytes: number): void {
    this.#nextTurn ??= setImmediate(() => this.#turn());
    if (this.#left === 0 || this.#waiting.length > 0) {
      this.#waiting.push({ signal, bytes });
      this.#waitingBytes += bytes;
      return;
    }
    this.#left -= 1;
    this.#pass(signal);
  }

  #turn(): void {
    const wasFull = this.isFull;
    const portion = this.#waiting.splice(0, PORTION_SIGNALS);
    this.#left = PORTION_SIGNALS - portion.length;
    this.#nextTurn = portion.length > 0 ? setImmediate(() => this.#turn()) : undefined;
    for (const { signal, bytes } of portion) {
      this.#waitingBytes -= bytes;
      this.#pass(signal);
    }
    if (wasFull && !this.isFull) this.#roomAgain();
  }
}
