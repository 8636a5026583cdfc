// Decides when the page is drawn: at most once per frame, in a task of its own, so that the browser paints
// in another task. A timer is used, because a hidden page has no frames, but its title must change.

import { options } from 'preact';

/** A frame at 60 Hz. */
const FRAME_MS = 1000 / 60;

class Drawing {
  #pending: (() => void) | undefined;
  #drawnAt = 0;

  /** Decides from now on when preact draws. `afterEach` is called after each drawing. */
  begin(afterEach: () => void): void {
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

/** One for the whole page, because preact has one setting for all that it draws. */
export const drawing = new Drawing();
