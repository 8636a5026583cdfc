// Decides when the page is drawn: by a timer, at most once per frame. `drawNow` draws it at once.

import { options } from 'preact';

/** A frame at 60 Hz. */
const FRAME_MS = 1000 / 60;

class Drawing {
  #pendingDrawing: (() => void) | undefined;
  #drawnAt = 0;

  /** Takes control of preact's drawings. `afterEach` is called after each of them. */
  begin(afterEach: () => void): void {
    options.debounceRendering = (draw) => {
      this.#pendingDrawing = () => {
        draw();
        afterEach();
        this.#drawnAt = performance.now();
      };
      const waitMs = this.#drawnAt + FRAME_MS - performance.now();
      // This is a timer and not an animation frame. A hidden page has no frames, but its title must change.
      setTimeout(() => this.drawNow(), Math.max(0, waitMs));
    };
  }

  /** Draws at once if a drawing is pending. */
  drawNow(): void {
    const draw = this.#pendingDrawing;
    this.#pendingDrawing = undefined;
    draw?.();
  }
}

/** The page has only one `Drawing`, because preact has one setting for everything that it draws. */
export const drawing = new Drawing();
