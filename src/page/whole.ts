// Shows a shortened text in full after a tap, and short again after the next, because a finger cannot hover.

export function showWholeAtTouch(page: HTMLElement): void {
  page.addEventListener('click', ({ target }) => {
    if (!(target instanceof Element) || target.closest('button, a, summary') !== null) return;
    const text = target.closest('.clip');
    if (!(text instanceof HTMLElement)) return;
    const isCut = text.scrollWidth > text.clientWidth + 1 || text.scrollHeight > text.clientHeight + 1;
    if (text.dataset['whole'] !== undefined) delete text.dataset['whole'];
    else if (isCut) text.dataset['whole'] = '';
  });
}
