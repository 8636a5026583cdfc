// Decides how the page reports a failure, and for how long the notice stays.

import { createContext } from 'preact';
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { ProblemError } from '../client/client.js';
import { Button } from './icons.js';
import { isolated, translate } from './language.js';
import type { TextKey } from './texts/english.js';

/** The page keeps at most this many notices: the newest ones. More notices would cover the page. */
const NOTICES_MAX = 3;
/** A notice is displayed for this time, and longer if it has the pointer, the focus, or open details. */
const DISPLAY_MS = 10_000;

/** The text for the `code` of a problem. The client itself makes the last four codes (client/problem.ts). */
const REASON_TEXTS: ReadonlyMap<string, TextKey> = new Map([
  ['unavailable', 'becauseAway'],
  ['timeout', 'becauseSilent'],
  ['inhibited', 'becauseBusy'],
  ['run-in-progress', 'becauseBusy'],
  ['in-progress', 'becauseBusy'],
  ['not-able', 'becauseForbidden'],
  ['not-granted', 'becauseForbidden'],
  ['capability-off', 'becauseForbidden'],
  ['read-only', 'becauseForbidden'],
  ['unreachable', 'becauseLost'],
  ['silent', 'becauseLost'],
  ['offline', 'becauseLost'],
  ['bye', 'becauseLost'],
]);

/** The exit status in systemd's text about a process: `code=exited, status=1/FAILURE`. */
const EXIT_STATUS = /\bstatus=(\d+)/;

/**
 * The expression captures the player's own text within the node's text. In the example
 * `NAME did not pause: not logged in (ERROR)` it captures `not logged in`. ERROR is the D-Bus name of the
 * error, and may be missing.
 */
const PLAYER_TEXT = /^\S+ did not \w+: (.+?)(?: \([\w.]+\))?$/;

/** The reason in a few words; undefined if only the problem's own text explains the failure. */
function reasonFor({ code, problem }: ProblemError): string | undefined {
  const reason = REASON_TEXTS.get(code);
  if (reason !== undefined) return translate(reason);
  const playerText = PLAYER_TEXT.exec(problem.detail)?.[1];
  if (playerText !== undefined) return isolated(playerText);
  const status = EXIT_STATUS.exec(problem.detail)?.[1];
  return status && translate('exitStatus', { status });
}

/**
 * Shows a notice with this `title` if `work` fails. Removes the notice with this title if `work` succeeds.
 * Resolves with true if `work` succeeds, and otherwise with false. Never rejects. The title says what failed,
 * such as "MPD could not start".
 */
export type ReportFailure = (title: string, work: Promise<unknown>) => Promise<boolean>;

/** The function with which the components of this part of the page report a failure. */
export const Reporting = createContext<ReportFailure>(async () => true);

interface FailureNotice {
  readonly title: string;
  /** The title, and the reason if there is a short one (`reasonFor`). */
  readonly sentence: string;
  readonly detail: string;
  /** True if the notice must be at the top, because the focused control is in the lower half. */
  readonly isAtTop: boolean;
}

/** The problem's own text, which is English. */
export function titleAndDetail({ title, detail }: Pick<ProblemError['problem'], 'title' | 'detail'>): string {
  return [title, detail].filter(Boolean).join(': ');
}

function noticeOf(title: string, error: unknown): FailureNotice {
  const problem = error instanceof ProblemError ? error.problem : { title: '', detail: String(error) };
  const reason = error instanceof ProblemError ? reasonFor(error) : undefined;
  return {
    title,
    sentence: reason === undefined ? title : translate('because', { what: title, reason }),
    detail: titleAndDetail(problem),
    isAtTop: isFocusLow(),
  };
}

export function useNotices() {
  const [notices, setNotices] = useState<readonly FailureNotice[]>([]);
  const dismiss = useCallback((title: string) => {
    // If no notice has this title, the list stays the same object, so that nothing is drawn.
    setNotices((current) => {
      const isDisplayed = current.some((notice) => notice.title === title);
      return isDisplayed ? without(current, title) : current;
    });
  }, []);
  const report = useCallback<ReportFailure>(async (title, work) => {
    try {
      await work;
    } catch (error) {
      const notice = noticeOf(title, error);
      // A repeated failure has only one notice, because the node may refuse ten values of a slider in a row.
      setNotices((current) => [...without(current, title), notice].slice(-NOTICES_MAX));
      return false;
    }
    dismiss(title);
    return true;
  }, []);
  return { notices, report, dismiss };
}

function without(notices: readonly FailureNotice[], title: string): readonly FailureNotice[] {
  return notices.filter((notice) => notice.title !== title);
}

/** True if the focused element, usually the control just pressed, is in the lower half of the screen. */
function isFocusLow(): boolean {
  const { activeElement, body } = document;
  if (activeElement === null || activeElement === body) return false;
  const { top, bottom } = activeElement.getBoundingClientRect();
  return (top + bottom) / 2 > innerHeight / 2;
}

/** The list is in the document even while it is empty, so that screen readers announce what is added. */
export function Notices({ notices, dismiss }: Omit<ReturnType<typeof useNotices>, 'report'>) {
  // The newest notice decides the place of all notices.
  const isAtTop = notices.at(-1)?.isAtTop ?? false;
  return (
    <div class={`notices ${isAtTop ? 'above' : ''}`} role="alert">
      {notices.map((notice) => (
        <Notice key={notice.title} notice={notice} dismiss={dismiss} />
      ))}
    </div>
  );
}

function Notice({ notice, dismiss }: Readonly<{ notice: FailureNotice; dismiss: (title: string) => void }>) {
  const { title, sentence, detail } = notice;
  const card = useRef<HTMLDivElement>(null);
  useEffect(() => {
    // If the notice is in use when its time ends, it stays for the same time once more.
    const timer = setInterval(() => {
      const hasPointerOrFocus = card.current?.matches(':hover, :focus-within');
      const isOpen = card.current?.querySelector('[open]');
      if (!hasPointerOrFocus && !isOpen) dismiss(title);
    }, DISPLAY_MS);
    return () => clearInterval(timer);
  }, [notice, dismiss]);
  return (
    <div ref={card} class="notice">
      <div class="grow">
        <p class="strong wrap">{sentence}</p>
        {detail === '' ? null : (
          <details class="more">
            <summary>{translate('details')}</summary>
            <p class="wrap">{detail}</p>
          </details>
        )}
      </div>
      <Button icon="close" label={translate('dismiss')} onClick={() => dismiss(title)} />
    </div>
  );
}
