// Schedules drawing: collects changes, draws at most once per frame, and in a separate task. Layout and paint follow in the next task; as
// one task they would delay input twice as long. Less urgent parts are drawn in small pieces.

/** A frame at 60 Hz: the time for the browser between two turns. */
const FRAME_MS = 1000 / 60;
/** If a turn has taken this long, the other pieces wait for the next turn: their layout and paint takes several times as long. */
const TURN_MS = 1;

export class Turns {
  readonly #atFrame: (call: () => void) => unknown;
  readonly #behind: () => void;
  readonly #now = new Set<() => void>();
  /** Urgent pieces first, then the others. */
  readonly #pieces = [new Set<() => void>(), new Set<() => void>()] as const;
  /** True if the last turn had no time for a piece. */
  #isOwed = false;
  #isComing = false;
  #endedAt = 0;

  /** `atFrame` calls back when the browser is about to lay out and paint; `behind` is called at the end of each turn. */
  constructor(atFrame: (call: () => void) => unknown, behind: () => void = () => undefined) {
    this.#atFrame = atFrame;
    this.#behind = behind;
  }

  /** Runs in the next turn, and only once however often it is requested before that. */
  soon(work: () => void): void {
    this.#now.add(work);
    this.#come();
  }

  /**
   * Runs when there is time: at least one piece in each turn without other work, and in every second turn otherwise. `isNext` puts it
   * before pieces without it. The returned function cancels it.
   */
  later(piece: () => void, isNext = false): () => void {
    const pieces = this.#pieces[isNext ? 0 : 1];
    pieces.add(piece);
    this.#come();
    return () => pieces.delete(piece);
  }

  #come(): void {
    if (this.#isComing) return;
    this.#isComing = true;
    setTimeout(() => this.#turn(), Math.max(0, this.#endedAt + FRAME_MS - performance.now()));
  }

  #turn(): void {
    const begun = performance.now();
    let isDue = this.#isOwed || this.#now.size === 0;
    this.#isOwed = true;
    try {
      this.#draw();
      while (isDue || performance.now() - begun <= TURN_MS) {
        const piece = this.#take();
        if (piece === undefined) break;
        isDue = false;
        this.#isOwed = false;
        piece();
        this.#draw();
      }
      this.#behind();
    } finally {
      // Also after work that has thrown.
      this.#endedAt = performance.now();
      this.#isComing = false;
      const isWaiting = this.#pieces.some(({ size }) => size > 0);
      this.#isOwed &&= isWaiting;
      if (this.#now.size > 0) this.#come();
      // After a frame, because the browser would lay out the work of several turns as one.
      else if (isWaiting) this.#atFrame(() => this.#come());
    }
  }

  #take(): (() => void) | undefined {
    for (const pieces of this.#pieces) {
      for (const piece of pieces) {
        pieces.delete(piece);
        return piece;
      }
    }
    return undefined;
  }

  /** Includes work that is added meanwhile. */
  #draw(): void {
    for (const work of this.#now) {
      this.#now.delete(work);
      work();
    }
  }
}
