// The page's entry: draws the node's state, at most once per frame.

import { options, render } from 'preact';
import { App } from './app.js';
import { keepFocus } from './focus.js';
import { language } from './language.js';
import { showWholeAtTouch } from './parts.js';

/** A frame at 60 Hz: the time for the browser between two drawings. */
const FRAME_MS = 1000 / 60;

function open(page: HTMLElement): void {
  const restoreFocus = keepFocus(page);
  let drawnAt = 0;
  // Each drawing is a task of its own, as layout and paint follow in the next one. A hidden page has no frames, but a title to change.
  options.debounceRendering = (draw) =>
    setTimeout(
      () => {
        draw();
        restoreFocus();
        drawnAt = performance.now();
      },
      Math.max(0, drawnAt + FRAME_MS - performance.now()),
    );
  page.addEventListener('click', showWholeAtTouch);
  // Loading this module was a task already.
  setTimeout(() => render(<App query={location.search} />, page));
}

const page = document.getElementById('page');
if (page === null) throw new Error('The document has no place for the page');
document.documentElement.lang = language;
open(page);
