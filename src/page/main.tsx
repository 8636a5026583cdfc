// The page's entry: draws the page, unless the browser is too old, and keeps the focus.

import { render } from 'preact';
import { App } from './app.js';
import { drawing } from './drawing.js';
import { loadLanguage } from './language.js';
import { showWholeAtTouch } from './parts.js';

const HOLDERS = 'li, .card, section';

function isUsable(element: HTMLElement): boolean {
  return element.isConnected && !element.matches(':disabled');
}

/**
 * Keeps the focus near when its element is removed or disabled: moves it to the card around the element, and
 * back. Otherwise keyboard and screen reader would start again at the top of the page.
 */
class FocusKeeper {
  readonly #page: HTMLElement;
  /** The focused element and its containers, nearest first; then those of the focus before. */
  #path: readonly HTMLElement[] = [];
  /** The element that gets the focus back when it is usable again. */
  #lent: { readonly from: HTMLElement; readonly to: HTMLElement } | undefined;

  constructor(page: HTMLElement) {
    this.#page = page;
    page.addEventListener('focusin', ({ target }) => {
      if (target instanceof HTMLElement) this.#remember(target);
    });
  }

  /** Call this after each change of the page. */
  bringBack(): void {
    const { activeElement, body } = document;
    const lent = this.#lent;
    if (lent !== undefined && lent.to === activeElement && isUsable(lent.from)) lent.from.focus();
    const [had, ...others] = this.#path;
    if (had === undefined || isUsable(had)) return;
    if (activeElement !== body && activeElement !== had) return;
    const next = others.find(isUsable);
    if (next !== undefined) this.#lend(had, next);
  }

  #remember(target: HTMLElement): void {
    const around: HTMLElement[] = [target];
    for (let each = target.parentElement; each !== null && each !== this.#page; each = each.parentElement)
      if (each.matches(HOLDERS)) around.push(each);
    const before = this.#path.filter((each) => each.isConnected && !around.includes(each));
    this.#path = [...around, ...before.slice(0, 8)];
  }

  #lend(from: HTMLElement, to: HTMLElement): void {
    to.tabIndex = -1;
    to.addEventListener('blur', () => to.removeAttribute('tabindex'), { once: true });
    to.focus({ preventScroll: true });
    this.#lent = { from, to };
  }
}

function open(page: HTMLElement): void {
  const focus = new FocusKeeper(page);
  drawing.pace(() => focus.bringBack());
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
if (isTooOld()) {
  // The document has the sentence, for browsers that do not come as far as here; there it appears late.
  document.getElementById('needs')?.classList.add('too-old');
} else {
  void loadLanguage().then((language) => {
    document.documentElement.lang = language;
    document.getElementById('needs')?.remove();
    open(page);
  });
}
