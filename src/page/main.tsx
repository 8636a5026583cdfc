// Starts the page in a browser that is new enough, and moves the focus when the focused element is removed or
// disabled.

import { render } from 'preact';
import { App } from './app.js';
import { drawing } from './drawing.js';
import { loadLanguage } from './language.js';
import { closeDialog, toggleWholeText } from './parts.js';

/** An element that matches this selector can get the focus when an element within it has lost the focus. */
const CONTAINERS = 'li, .card, section';
/** At most this many earlier elements stay remembered when the focus moves. */
const OLDER_ELEMENTS_MAX = 8;

function canHaveFocus(element: HTMLElement): boolean {
  return element.isConnected && !element.matches(':disabled');
}

/**
 * If the focused element is removed or disabled, the nearest of the `CONTAINERS` around it gets the focus.
 * If all of these are removed, too, an element that was remembered earlier gets the focus. Without this
 * class, keyboard and screen reader would start again at the top of the page. A disabled element gets the
 * focus back when it is enabled again.
 */
class FocusKeeper {
  readonly #page: HTMLElement;
  /** The focused element, its containers from the nearest on, and the elements remembered before. */
  #remembered: readonly HTMLElement[] = [];
  /** The element `to` has got the focus that the element `from` has lost. */
  #lastMove: { readonly from: HTMLElement; readonly to: HTMLElement } | undefined;

  constructor(page: HTMLElement) {
    this.#page = page;
    page.addEventListener('focusin', ({ target }) => {
      if (target instanceof HTMLElement) this.#remember(target);
    });
  }

  /** Call this after each drawing of the page. */
  update(): void {
    const { activeElement, body } = document;
    const lastMove = this.#lastMove;
    // An element that was disabled may be enabled again by now.
    const canReturn = lastMove !== undefined && lastMove.to === activeElement && canHaveFocus(lastMove.from);
    if (canReturn) lastMove.from.focus();
    // `focus` causes `focusin` at once. So if the focus has returned, `focused` is `lastMove.from`.
    const [focused, ...others] = this.#remembered;
    if (focused === undefined || canHaveFocus(focused)) return;
    // The browser makes `body` the active element if the focused one is removed. A disabled one may stay
    // the active element.
    const isFocusElsewhere = activeElement !== body && activeElement !== focused;
    if (isFocusElsewhere) return;
    const nearest = others.find(canHaveFocus);
    if (nearest !== undefined) this.#moveFocus(focused, nearest);
  }

  #remember(target: HTMLElement): void {
    const newest: HTMLElement[] = [target];
    let parent = target.parentElement;
    while (parent !== null && parent !== this.#page) {
      if (parent.matches(CONTAINERS)) newest.push(parent);
      parent = parent.parentElement;
    }
    const older = this.#remembered.filter((element) => element.isConnected && !newest.includes(element));
    this.#remembered = [...newest, ...older.slice(0, OLDER_ELEMENTS_MAX)];
  }

  #moveFocus(from: HTMLElement, to: HTMLElement): void {
    // An element that is no control can have the focus only with a tab index.
    to.tabIndex = -1;
    to.addEventListener('blur', () => to.removeAttribute('tabindex'), { once: true });
    to.focus({ preventScroll: true });
    this.#lastMove = { from, to };
  }
}

function drawPage(page: HTMLElement): void {
  const focusKeeper = new FocusKeeper(page);
  drawing.begin(() => focusKeeper.update());
  page.addEventListener('click', toggleWholeText);
  page.addEventListener('click', closeDialog);
  // The page is drawn in a task of its own, because the task that loaded this module was long already.
  setTimeout(() => render(<App query={location.search} />, page));
}

/**
 * True for most browsers that are older than those of packaging/browsers.mjs. Safari before 15.4, Chromium
 * before 93 and Firefox before 98 lack at least one of the three features.
 */
function isTooOld(): boolean {
  return !('hasOwn' in Object && 'HTMLDialogElement' in globalThis && 'BroadcastChannel' in globalThis);
}

const page = document.getElementById('page');
if (page === null) throw new Error('The document has no place for the page');
if (isTooOld()) {
  // index.html has the text for such browsers, because the oldest of them cannot run this script. The class
  // `too-old` shows the text at once. Without this class, the text appears after a delay (page.css).
  document.getElementById('needs')?.classList.add('too-old');
} else {
  void loadLanguage().then((language) => {
    document.documentElement.lang = language;
    document.getElementById('needs')?.remove();
    drawPage(page);
  });
}
