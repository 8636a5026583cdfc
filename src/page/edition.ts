// Detects that the node serves a newer page, as after an upgrade; an old page may not understand the new events and records.

/** If the document takes longer, the check is repeated when the node returns the next time. */
const ANSWER_MS = 5000;
/** Without input for this long, nobody is using the page. */
const STILL_MS = 5000;
const LOOK_MS = 1000;

/** File names contain a hash of the content, so the document of another version names another script. */
export async function isOutdated(base: string): Promise<boolean> {
  const own = document.querySelector('script[src]')?.getAttribute('src') ?? '';
  const answer = await fetch(`${base}/ui`, { cache: 'no-cache', signal: AbortSignal.timeout(ANSWER_MS) });
  return answer.ok && !(await answer.text()).includes(own);
}

/** Calls once when the page is idle: no input, no open dialog, no request. */
export function whenStill(handMs: () => number, call: () => void): void {
  const timer = setInterval(() => {
    const isBusy = document.querySelector('dialog[open], [aria-busy="true"]') !== null;
    if (isBusy || (handMs() < STILL_MS && !document.hidden)) return;
    clearInterval(timer);
    call();
  }, LOOK_MS);
}
