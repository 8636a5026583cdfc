// Whether the node serves another page than this one: it does after an upgrade, and an old page may not know what it is told.

/** A document that takes longer is looked for again at the next return. */
const ANSWER_MS = 5000;
/** Nobody is at the page who has not moved a hand for so long. */
const STILL_MS = 5000;
const LOOK_MS = 1000;

/** Each file is named by its content, so that the document of another page names another script. */
export async function isOutdated(base: string): Promise<boolean> {
  const own = document.querySelector('script[src]')?.getAttribute('src') ?? '';
  const answer = await fetch(`${base}/ui`, { cache: 'no-cache', signal: AbortSignal.timeout(ANSWER_MS) });
  return answer.ok && !(await answer.text()).includes(own);
}

/** Calls once nothing is under way on the page: no hand, no question, no request. */
export function whenStill(handMs: () => number, call: () => void): void {
  const timer = setInterval(() => {
    const isBusy = document.querySelector('dialog[open], [aria-busy="true"]') !== null;
    if (isBusy || (handMs() < STILL_MS && !document.hidden)) return;
    clearInterval(timer);
    call();
  }, LOOK_MS);
}
