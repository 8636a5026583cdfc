// The page's entry: draws the node's state, at most once per frame, and keeps the focus.

import { options, render } from 'preact';
import { App } from './app.js';
import { language } from './language.js';
import { showWholeAtTouch } from './parts.js';

const HOLDERS = 'li, .card, section';

function isUsable(element: HTMLElement): boolean {
  return element.isConnected && !element.matches(':disabled');
}

/**
 * Keeps the focus near when its element is removed or disabled: moves it to the card around the element, and
 * back. Otherwise keyboard and screen reader would start again at the top of the page. Call the returned
 * function after each change of the page.
 */
function keepFocus(page: HTMLElement): () => void {
  /** The focused element and its containers, nearest first; then those of the focus before. */
  let path: readonly HTMLElement[] = [];
  /** The element that gets the focus back when it is usable again. */
  let lent: { readonly from: HTMLElement; readonly to: HTMLElement } | undefined;
  const lend = (from: HTMLElement, to: HTMLElement): void => {
    to.tabIndex = -1;
    to.addEventListener('blur', () => to.removeAttribute('tabindex'), { once: true });
    to.focus({ preventScroll: true });
    lent = { from, to };
  };
  page.addEventListener('focusin', ({ target }) => {
    if (!(target instanceof HTMLElement)) return;
    const around: HTMLElement[] = [target];
    for (let each = target.parentElement; each !== null && each !== page; each = each.parentElement)
      if (each.matches(HOLDERS)) around.push(each);
    const before = path.filter((each) => each.isConnected && !around.includes(each));
    path = [...around, ...before.slice(0, 8)];
  });
  return () => {
    const { activeElement, body } = document;
    if (lent !== undefined && lent.to === activeElement && isUsable(lent.from)) lent.from.focus();
    const [had, ...others] = path;
    if (had === undefined || isUsable(had)) return;
    if (activeElement !== body && activeElement !== had) return;
    const next = others.find(isUsable);
    if (next !== undefined) lend(had, next);
  };
}

/** A frame at 60 Hz: the time for the browser between two drawings. */
const FRAME_MS = 1000 / 60;

function open(page: HTMLElement): void {
  const restoreFocus = keepFocus(page);
  let drawnAt = 0;
  // Each drawing is a task of its own, as layout and paint follow in the next one. A hidden page has no
  // frames, but a title to change.
  options.debounceRendering = (draw) => {
    const drawAll = (): void => {
      draw();
      restoreFocus();
      drawnAt = performance.now();
    };
    setTimeout(drawAll, Math.max(0, drawnAt + FRAME_MS - performance.now()));
  };
  page.addEventListener('click', showWholeAtTouch);
  // Loading this module was a task already.
  setTimeout(() => render(<App query={location.search} />, page));
}

/**
 * True for a browser before those of packaging/browsers.mjs: each older Firefox and Safari, and nearly every
 * older Chromium, lacks one.
 */
function isTooOld(): boolean {
  return !('hasOwn' in Object && 'HTMLDialogElement' in globalThis && 'BroadcastChannel' in globalThis);
}

const page = document.getElementById('page');
if (page === null) throw new Error('The document has no place for the page');
document.documentElement.lang = language;
if (isTooOld()) {
  // The document has the sentence, for browsers that do not come as far as here; there it appears late.
  document.getElementById('needs')?.classList.add('at-once');
} else {
  document.getElementById('needs')?.remove();
  open(page);
}
