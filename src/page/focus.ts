// Where the focus goes when what had it goes or is disabled: to the card around it, and back. Else the keyboard and the screen reader
// begin again at the top of the page.

const HOLDERS = 'li, .card, section';

function isUsable(element: HTMLElement): boolean {
  return element.isConnected && !element.matches(':disabled');
}

/** The answer is to be called behind each change of the page. */
export function keepFocus(page: HTMLElement): () => void {
  /** What has the focus, and what stands around it, the nearest first; behind them those of the focus before. */
  let path: readonly HTMLElement[] = [];
  /** What the focus is taken back to. */
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
