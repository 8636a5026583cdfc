// The newest lines of a log, fetched only while they are open; of a failed unit also since when and how it
// failed.

import { useEffect, useState } from 'preact/hooks';
import type { LogEntryRecord } from '../client/client.js';
import { formatTime, translate } from './language.js';

interface UnitLogProps {
  readonly read: () => Promise<readonly LogEntryRecord[]>;
  /** The log is read again when this changes. */
  readonly state: string | undefined;
  readonly hasFailed: boolean;
  readonly title: string;
  /** It is offered; once open, it stays until it is closed. */
  readonly isOffered: boolean;
}

interface LogContent {
  readonly logEntries: readonly LogEntryRecord[];
  /** Why there are no logEntries; empty while there are some, and before the log is read. */
  readonly text: string;
}

const NOTHING_READ: LogContent = { logEntries: [], text: '' };

export function UnitLog({ read, state, hasFailed, title, isOffered }: UnitLogProps) {
  const [isOpen, setOpen] = useState(false);
  const [{ logEntries, text }, setContent] = useState<LogContent>(NOTHING_READ);
  useEffect(() => {
    if (!isOpen) return undefined;
    let isCurrent = true;
    read()
      .then(
        (found) => ({ logEntries: found, text: found.length === 0 ? translate('noLog') : '' }),
        ({ message: reason }: Error) => {
          return { logEntries: [], text: translate('because', { what: translate('couldNotRead'), reason }) };
        },
      )
      .then((content) => isCurrent && setContent(content));
    return () => {
      isCurrent = false;
    };
    // `read` is made anew at each rendering.
  }, [state, isOpen]);
  if (!isOffered && !isOpen) return null;
  const lines = logEntries.map(
    ({ time, message }) => `${new Date(time).toTimeString().slice(0, 8)} ${message}`,
  );
  const end = hasFailed ? endIn(logEntries) : undefined;
  return (
    <details class="more" open={isOpen} onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary aria-label={translate('ofPlayer', { what: translate('log'), name: title })}>
        {translate('log')}
      </summary>
      <div role="status">
        {end === undefined ? null : <p class="bad-text">{translate('failedSince', end)}</p>}
        {text === '' ? null : <p class="quiet wrap">{text}</p>}
      </div>
      {logEntries.length === 0 ? null : <pre class="log">{lines.join('\n')}</pre>}
    </details>
  );
}

/** systemd's own words at the end of a run, the newest. */
const FAILED = /: Failed with result '([^']+)'/;

function endIn(logEntries: readonly LogEntryRecord[]) {
  const { time = '', message = '' } = logEntries.filter((entry) => FAILED.test(entry.message)).at(-1) ?? {};
  const result = FAILED.exec(message)?.[1];
  return result === undefined ? undefined : { time: formatTime(time), result };
}
