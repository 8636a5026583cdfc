// When something is drawn: what has changed meanwhile together, at most once per frame, and in a task of its own. The browser lays out
// and paints in the next one; as one task they would keep a hand waiting twice as long. What has time is drawn in small pieces.

/** At 60 Hz: so long is left to the browser between two turns. */
const FRAME_MS = 1000 / 60;
/** When a turn has taken so long, the pieces that are left wait for the next one. */
const TURN_MS = 3;

export class Turns {
  readonly #atFrame: (call: () => void) => unknown;
  readonly #now = new Set<() => void>();
  readonly #pieces = new Set<() => void>();
  #isComing = false;
  #endedAt = 0;

  /** `atFrame` calls when the browser is about to lay out and paint. */
  constructor(atFrame: (call: () => void) => unknown) {
    this.#atFrame = atFrame;
  }

  /** In the next turn, once, however often it is asked for until then. */
  soon(work: () => void): void {
    this.#now.add(work);
    this.#come();
  }

  /** When there is time: one piece at least in each turn that has nothing else. The answer takes it back. */
  later(piece: () => void): () => void {
    this.#pieces.add(piece);
    this.#come();
    return () => this.#pieces.delete(piece);
  }

  #come(): void {
    if (this.#isComing) return;
    this.#isComing = true;
    setTimeout(() => this.#turn(), Math.max(0, this.#endedAt + FRAME_MS - performance.now()));
  }

  #turn(): void {
    const begun = performance.now();
    let isIdle = this.#now.size === 0;
    try {
      this.#draw();
      for (const piece of this.#pieces) {
        if (!isIdle && performance.now() - begun > TURN_MS) break;
        isIdle = false;
        this.#pieces.delete(piece);
        piece();
        this.#draw();
      }
    } finally {
      // Also behind a work that has thrown.
      this.#endedAt = performance.now();
      this.#isComing = false;
      if (this.#now.size > 0) this.#come();
      // Behind a frame: what several turns have drawn would be laid out as one.
      else if (this.#pieces.size > 0) this.#atFrame(() => this.#come());
    }
  }

  /** Also what is asked for meanwhile. */
  #draw(): void {
    for (const work of this.#now) {
      this.#now.delete(work);
      work();
    }
  }
}
