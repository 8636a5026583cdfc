// Notices of failures: a title in the page's language, and the problem's own text behind "Details". A notice disappears when its cause
// is over or after some time, and is placed away from the last pressed control.

import { createContext } from 'preact';
import { useCallback, useContext, useEffect, useRef, useState } from 'preact/hooks';
import { ProblemError } from '../client/client.js';
import { IconButton } from './icons.js';
import { translate } from './language.js';
import { reasonFor } from './reasons.js';

/** More would hide the page; the newest are kept. */
const NOTICES_MAX = 3;
/** Each is shown this long; longer while the pointer or the focus is on it. */
const SHOWN_MS = 10_000;

export interface Reporter {
  /** `title` names what failed, for instance "MPD could not start"; the same failure has the same title. */
  failed(title: string, error: unknown): void;
  mended(title: string): void;
}

export const Reporting = createContext<Reporter>({ failed: () => undefined, mended: () => undefined });

interface ShownNotice {
  readonly id: number;
  readonly title: string;
  readonly reason: string;
  readonly detail: string;
  /** At the top, because it must not cover the focused control below. */
  readonly isAbove: boolean;
}

export function useNotices(): {
  readonly notices: readonly ShownNotice[];
  readonly reporter: Reporter;
  readonly dismiss: (id: number) => void;
} {
  const [notices, setNotices] = useState<readonly ShownNotice[]>([]);
  const reporter = useRef<Reporter>({
    mended: (title) =>
      // The same list causes no redraw.
      setNotices((before) => (before.some((each) => each.title === title) ? without(before, title) : before)),
    failed: (title, error) => {
      const problem = error instanceof ProblemError ? error.problem : { title: '', detail: String(error) };
      const reason = error instanceof ProblemError ? reasonFor(error) : undefined;
      setNotices((before) => {
        const id = 1 + Math.max(0, ...before.map((notice) => notice.id));
        const text = reason === undefined ? title : translate('because', { what: title, reason });
        const detail = [problem.title, problem.detail].filter(Boolean).join(': ');
        const notice = { id, title, reason: text, detail, isAbove: isBusyBelow() };
        // A repeated failure is shown once; a slider may be refused ten times.
        return [...without(before, title), notice].slice(-NOTICES_MAX);
      });
    },
  });
  const dismiss = useCallback((id: number) => {
    setNotices((before) => before.filter((notice) => notice.id !== id));
  }, []);
  return { notices, reporter: reporter.current, dismiss };
}

function without(notices: readonly ShownNotice[], title: string): readonly ShownNotice[] {
  return notices.filter((notice) => notice.title !== title);
}

/** True if the focused element, which is the one pressed last, is in the lower half of the screen. */
function isBusyBelow(): boolean {
  const { activeElement, body } = document;
  if (activeElement === null || activeElement === body) return false;
  const { top, bottom } = activeElement.getBoundingClientRect();
  return (top + bottom) / 2 > innerHeight / 2;
}

interface NoticesProps {
  readonly notices: readonly ShownNotice[];
  readonly dismiss: (id: number) => void;
}

/** Always in the document, so that screen readers announce what is added to it. */
export function Notices({ notices, dismiss }: NoticesProps) {
  const isAbove = notices.at(-1)?.isAbove ?? false;
  return (
    <div class={`notices ${isAbove ? 'above' : ''}`} role="alert">
      {notices.map((notice) => (
        <Notice key={notice.id} {...notice} dismiss={dismiss} />
      ))}
    </div>
  );
}

function Notice({ id, reason, detail, dismiss }: ShownNotice & Pick<NoticesProps, 'dismiss'>) {
  const card = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const timer = setInterval(() => {
      const isRead = card.current?.matches(':hover, :focus-within') || card.current?.querySelector('[open]');
      if (!isRead) dismiss(id);
    }, SHOWN_MS);
    return () => clearInterval(timer);
  }, [id, dismiss]);
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
      <IconButton icon="close" label={translate('dismiss')} onClick={() => dismiss(id)} />
    </div>
  );
}

/** Removes the notice `title` as soon as `isMended`, whoever has solved the problem. */
export function useMended(title: string, isMended: boolean): void {
  const reporter = useContext(Reporting);
  useEffect(() => {
    if (isMended) reporter.mended(title);
  }, [reporter, title, isMended]);
}
