// What went wrong: whose trouble it is in the page's language, and the problem's own words behind "Details". It goes when it is mended
// or old, and stands where no hand is.

import { createContext } from 'preact';
import { useCallback, useContext, useEffect, useRef, useState } from 'preact/hooks';
import { ProblemError } from '../client/client.js';
import { Icon } from './icons.js';
import { say } from './language.js';
import { reasonFor } from './reasons.js';

/** More would hide the page; the newest count. */
const NOTICES_MAX = 3;
/** So long one is shown that nobody reads; while a hand or the focus is on it, longer. */
const SHOWN_MS = 10_000;

export interface Reporter {
  /** `title` says what did not work, as "MPD could not start": the same trouble has the same title. */
  failed(title: string, error: unknown): void;
  /** It works now. */
  mended(title: string): void;
}

export const Reporting = createContext<Reporter>({ failed: () => undefined, mended: () => undefined });

interface ShownNotice {
  readonly id: number;
  readonly title: string;
  readonly reason: string;
  readonly detail: string;
  /** Where the hand or the focus was, which it must not cover. */
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
      // The same list draws nothing again.
      setNotices((before) => (before.some((each) => each.title === title) ? without(before, title) : before)),
    failed: (title, error) => {
      const problem = error instanceof ProblemError ? error.problem : { title: '', detail: String(error) };
      const reason = error instanceof ProblemError ? reasonFor(error) : undefined;
      setNotices((before) => {
        const id = 1 + Math.max(0, ...before.map((notice) => notice.id));
        const said = reason === undefined ? title : say('because', { what: title, reason });
        const detail = [problem.title, problem.detail].filter(Boolean).join(': ');
        const notice = { id, title, reason: said, detail, isAbove: isBusyBelow() };
        // Said twice it is no more true, and a slider may be refused ten times.
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

/** Whether what has the focus, which is what was pressed last, is in the lower half of the screen. */
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

/** Always there, so that a screen reader hears what comes into it. */
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
            <summary>{say('details')}</summary>
            <p class="wrap">{detail}</p>
          </details>
        )}
      </div>
      <button
        type="button"
        class="icon-button"
        aria-label={say('dismiss')}
        title={say('dismiss')}
        onClick={() => dismiss(id)}
      >
        <Icon name="close" />
      </button>
    </div>
  );
}

/** The trouble named `title` is over as soon as `isMended`, whoever has mended it. */
export function useMended(title: string, isMended: boolean): void {
  const reporter = useContext(Reporting);
  useEffect(() => {
    if (isMended) reporter.mended(title);
  }, [reporter, title, isMended]);
}
