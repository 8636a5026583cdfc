// The page's entry: draws the page, unless the browser is too old, and keeps the focus near its place.

import { render } from 'preact';
import { App } from './app.js';
import { drawing } from './drawing.js';
import { loadLanguage } from './language.js';
import { toggleWholeText } from './parts.js';

/** The elements that get the focus when an element within them has lost it. */
const CONTAINERS = 'li, .card, section';
/** How many containers of earlier focused elements are remembered. */
const OLDER_CONTAINERS_MAX = 8;

function isUsable(element: HTMLElement): boolean {
  return element.isConnected && !element.matches(':disabled');
}

/**
 * If the focused element is removed or disabled, gives the focus to the card around it, and gives it back
 * when the element can be used again. Without this, keyboard and screen reader would start again at the top
 * of the page.
 */
class FocusKeeper {
  readonly #page: HTMLElement;
  /**
   * The focused element and its containers, the nearest first. After them come the elements that were
   * remembered before.
   */
  #path: readonly HTMLElement[] = [];
  /** The element that lost the focus, and its container, which has the focus meanwhile. */
  #lent: { readonly from: HTMLElement; readonly to: HTMLElement } | undefined;

  constructor(page: HTMLElement) {
    this.#page = page;
    page.addEventListener('focusin', ({ target }) => {
      if (target instanceof HTMLElement) this.#remember(target);
    });
  }

  /** Call this after each drawing of the page. */
  update(): void {
    const { activeElement, body } = document;
    const lent = this.#lent;
    if (lent !== undefined && lent.to === activeElement && isUsable(lent.from)) lent.from.focus();
    const [focused, ...containers] = this.#path;
    if (focused === undefined || isUsable(focused)) return;
    const isElsewhere = activeElement !== body && activeElement !== focused;
    if (isElsewhere) return;
    const nearest = containers.find(isUsable);
    if (nearest !== undefined) this.#lend(focused, nearest);
  }

  #remember(target: HTMLElement): void {
    const path: HTMLElement[] = [target];
    let parent = target.parentElement;
    while (parent !== null && parent !== this.#page) {
      if (parent.matches(CONTAINERS)) path.push(parent);
      parent = parent.parentElement;
    }
    const older = this.#path.filter((element) => element.isConnected && !path.includes(element));
    this.#path = [...path, ...older.slice(0, OLDER_CONTAINERS_MAX)];
  }

  #lend(from: HTMLElement, to: HTMLElement): void {
    to.tabIndex = -1;
    to.addEventListener('blur', () => to.removeAttribute('tabindex'), { once: true });
    to.focus({ preventScroll: true });
    this.#lent = { from, to };
  }
}

function drawPage(page: HTMLElement): void {
  const focus = new FocusKeeper(page);
  drawing.begin(() => focus.update());
  page.addEventListener('click', toggleWholeText);
  // The page is drawn in a task of its own, because the task that loaded this module was long already.
  setTimeout(() => render(<App query={location.search} />, page));
}

/**
 * True for a browser that is older than those of packaging/browsers.mjs. Every such Firefox and Safari, and
 * nearly every such Chromium, lacks one of the three features that are tried here.
 */
function isTooOld(): boolean {
  return !('hasOwn' in Object && 'HTMLDialogElement' in globalThis && 'BroadcastChannel' in globalThis);
}

const page = document.getElementById('page');
if (page === null) throw new Error('The document has no place for the page');
if (isTooOld()) {
  // The sentence is part of the document, because the oldest browsers cannot run this script. They show the
  // sentence after a delay. Here it appears at once.
  document.getElementById('needs')?.classList.add('too-old');
} else {
  void loadLanguage().then((language) => {
    document.documentElement.lang = language;
    document.getElementById('needs')?.remove();
    drawPage(page);
  });
}
