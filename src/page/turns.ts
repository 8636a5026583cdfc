// When something is drawn: what has changed meanwhile together, at most once per frame, and in a task of its own. The browser lays out
// and paints in the next one; as one task they would keep a hand waiting twice as long. What has time is drawn in small pieces.

/** At 60 Hz: so long is left to the browser between two turns. */
const FRAME_MS = 1000 / 60;
/** When a turn has taken so long, the pieces that are left wait for the next one: to lay out and paint them takes several times as long. */
const TURN_MS = 1;

export class Turns {
  readonly #atFrame: (call: () => void) => unknown;
  readonly #behind: () => void;
  readonly #now = new Set<() => void>();
  /** What is to be drawn first, and what has more time. */
  readonly #pieces = [new Set<() => void>(), new Set<() => void>()] as const;
  /** The last turn had no time for a piece. */
  #isOwed = false;
  #isComing = false;
  #endedAt = 0;

  /** `atFrame` calls when the browser is about to lay out and paint; `behind` is called at the end of each turn. */
  constructor(atFrame: (call: () => void) => unknown, behind: () => void = () => undefined) {
    this.#atFrame = atFrame;
    this.#behind = behind;
  }

  /** In the next turn, once, however often it is asked for until then. */
  soon(work: () => void): void {
    this.#now.add(work);
    this.#come();
  }

  /**
   * When there is time: one piece at least in each turn that has nothing else, and in each second one; `isNext`: before those that are
   * not. The answer takes it back.
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
      // Also behind a work that has thrown.
      this.#endedAt = performance.now();
      this.#isComing = false;
      const isWaiting = this.#pieces.some(({ size }) => size > 0);
      this.#isOwed &&= isWaiting;
      if (this.#now.size > 0) this.#come();
      // Behind a frame: what several turns have drawn would be laid out as one.
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

  /** Also what is asked for meanwhile. */
  #draw(): void {
    for (const work of this.#now) {
      this.#now.delete(work);
      work();
    }
  }
}
