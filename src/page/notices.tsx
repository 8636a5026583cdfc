// What went wrong, in the problem's own words, until somebody has read it.

import { useCallback, useState } from 'preact/hooks';
import { ProblemError } from '../client/client.js';
import { Icon } from './icons.js';
import { say } from './language.js';

/** More would hide the page; the newest count. */
const NOTICES_MAX = 3;

interface ShownNotice {
  readonly id: number;
  readonly title: string;
  readonly detail: string;
}

export function useNotices(): {
  readonly notices: readonly ShownNotice[];
  readonly report: (error: unknown) => void;
  readonly dismiss: (id: number) => void;
} {
  const [notices, setNotices] = useState<readonly ShownNotice[]>([]);
  const report = useCallback((error: unknown) => {
    const { title, detail } =
      error instanceof ProblemError ? error.problem : { title: '', detail: String(error) };
    setNotices((before) => {
      // Said twice it is no more true, and a slider may be refused ten times.
      const others = before.filter((notice) => notice.title !== title || notice.detail !== detail);
      const id = 1 + Math.max(0, ...before.map((notice) => notice.id));
      return [...others, { id, title, detail }].slice(-NOTICES_MAX);
    });
  }, []);
  const dismiss = useCallback((id: number) => {
    setNotices((before) => before.filter((notice) => notice.id !== id));
  }, []);
  return { notices, report, dismiss };
}

interface NoticesProps {
  readonly notices: readonly ShownNotice[];
  readonly dismiss: (id: number) => void;
}

/** Always there, so that a screen reader hears what comes into it. */
export function Notices({ notices, dismiss }: NoticesProps) {
  return (
    <div class="notices" role="alert">
      {notices.map(({ id, title, detail }) => (
        <div key={id} class="notice">
          <div class="grow">
            <p class="strong wrap">{title || say('refused')}</p>
            {detail === '' ? null : <p class="wrap">{detail}</p>}
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
      ))}
    </div>
  );
}
