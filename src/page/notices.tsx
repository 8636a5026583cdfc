// Notices of failures: a title in the page's language, and the problem's own text behind "Details". A notice
// disappears when its cause is over or after some time, and is placed away from the last pressed control.

import { createContext } from 'preact';
import { useCallback, useContext, useEffect, useRef, useState } from 'preact/hooks';
import { ProblemError } from '../client/client.js';
import { Button } from './icons.js';
import { isolated, translate } from './language.js';
import type { TextKey } from './texts/english.js';

/** More would hide the page; the newest are kept. */
const NOTICES_MAX = 3;
/** Each is shown this long; longer while the pointer or the focus is on it. */
const DISPLAY_MS = 10_000;

const REASONS: ReadonlyMap<string, TextKey> = new Map([
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

/** In systemd's texts about a process: `code=exited, status=1/FAILURE`. */
const EXIT_STATUS = /\bstatus=(\d+)/;

/** A player's own words, in the node's text about them: `NAME did not pause: not logged in (ERROR)`. */
const PLAYERS_WORDS = /^\S+ did not \w+: (.+?)(?: \([\w.]+\))?$/;

/** Undefined if only the problem's own text says more. */
function reasonFor({ code, problem }: ProblemError): string | undefined {
  const words = PLAYERS_WORDS.exec(problem.detail)?.[1];
  if (words !== undefined) return isolated(words);
  const status = EXIT_STATUS.exec(problem.detail)?.[1];
  if (status !== undefined) return translate('exitStatus', { status });
  const reason = REASONS.get(code);
  return reason && translate(reason);
}

/**
 * Shows a notice if `work` fails, and removes it if it succeeds: then true. The same failure has the same
 * `title`: "MPD could not start".
 */
type Report = (title: string, work: Promise<unknown>) => Promise<boolean>;

export const Reporting = createContext<Report>(async () => true);

interface FailureNotice {
  readonly title: string;
  readonly reason: string;
  readonly detail: string;
  /** At the top, because it must not cover the focused control below. */
  readonly isAbove: boolean;
}

function noticeOf(title: string, error: unknown): FailureNotice {
  const problem = error instanceof ProblemError ? error.problem : { title: '', detail: String(error) };
  const reason = error instanceof ProblemError ? reasonFor(error) : undefined;
  return {
    title,
    reason: reason === undefined ? title : translate('because', { what: title, reason }),
    detail: [problem.title, problem.detail].filter(Boolean).join(': '),
    isAbove: isBusyBelow(),
  };
}

export function useNotices() {
  const [notices, setNotices] = useState<readonly FailureNotice[]>([]);
  const dismiss = useCallback((title: string) => {
    // The same list causes no redraw.
    setNotices((all) => (all.some((each) => each.title === title) ? without(all, title) : all));
  }, []);
  const report = useCallback<Report>(async (title, work) => {
    try {
      await work;
    } catch (error) {
      const notice = noticeOf(title, error);
      // A repeated failure is shown once; a slider may be refused ten times.
      setNotices((all) => [...without(all, title), notice].slice(-NOTICES_MAX));
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

/** True if the focused element, which is the one pressed last, is in the lower half of the screen. */
function isBusyBelow(): boolean {
  const { activeElement, body } = document;
  if (activeElement === null || activeElement === body) return false;
  const { top, bottom } = activeElement.getBoundingClientRect();
  return (top + bottom) / 2 > innerHeight / 2;
}

/** Always in the document, so that screen readers announce what is added to it. */
export function Notices({ notices, dismiss }: Omit<ReturnType<typeof useNotices>, 'report'>) {
  const isAbove = notices.at(-1)?.isAbove ?? false;
  return (
    <div class={`notices ${isAbove ? 'above' : ''}`} role="alert">
      {notices.map((notice) => (
        <Notice key={notice.title} notice={notice} dismiss={dismiss} />
      ))}
    </div>
  );
}

function Notice({ notice, dismiss }: Readonly<{ notice: FailureNotice; dismiss: (title: string) => void }>) {
  const { title, reason, detail } = notice;
  const card = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const timer = setInterval(() => {
      const isRead = card.current?.matches(':hover, :focus-within') || card.current?.querySelector('[open]');
      if (!isRead) dismiss(title);
    }, DISPLAY_MS);
    return () => clearInterval(timer);
  }, [notice, dismiss]);
  return (
    <div ref={card} class="notice">
      <div class="grow">
        <p class="strong wrap">{reason}</p>
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

/** Removes the notice `title` as soon as `isMended`, whoever has solved the problem. */
export function useMended(title: string, isMended: boolean): void {
  const report = useContext(Reporting);
  useEffect(() => {
    if (isMended) void report(title, Promise.resolve());
  }, [report, title, isMended]);
}
