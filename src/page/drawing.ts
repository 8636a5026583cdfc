// When the page is drawn: at most once per frame, each time in a task of its own, as layout and paint follow
// in the next one. A hidden page has no frames, but a title to change.

import { options } from 'preact';

/** A frame at 60 Hz: the time for the browser between two drawings. */
const FRAME_MS = 1000 / 60;

class Drawing {
  #pending: (() => void) | undefined;
  #drawnAt = 0;

  /** From now on drawings are paced; `afterEach` is called after each of them. */
  pace(afterEach: () => void): void {
    options.debounceRendering = (draw) => {
      this.#pending = () => {
        draw();
        afterEach();
        this.#drawnAt = performance.now();
      };
      setTimeout(() => this.now(), Math.max(0, this.#drawnAt + FRAME_MS - performance.now()));
    };
  }

  /** Draws at once what is waiting to be drawn. */
  now(): void {
    const draw = this.#pending;
    this.#pending = undefined;
    draw?.();
  }
}

/** The page's own: preact has one for all that it draws. */
export const drawing = new Drawing();
