// Draws the newest lines of a log, which are read only while the log is open. If a unit has failed, the log
// also shows when and how.

import { useEffect, useState } from 'preact/hooks';
import type { LogEntryRecord } from '../client/client.js';
import { formatTime, translate } from './language.js';

interface UnitLogProps {
  readonly read: () => Promise<readonly LogEntryRecord[]>;
  /** The log is read again when this text changes, which is the state of the unit or the end of a run. */
  readonly state: string | undefined;
  readonly hasFailed: boolean;
  readonly title: string;
  /** True if the log can be opened. An open log stays until it is closed. */
  readonly isOffered: boolean;
}

interface LogContent {
  readonly logEntries: readonly LogEntryRecord[];
  /** Why there are no entries; empty while there are some, and before the log is read. */
  readonly text: string;
}

const NO_CONTENT: LogContent = { logEntries: [], text: '' };

export function UnitLog({ read, state, hasFailed, title, isOffered }: UnitLogProps) {
  const [isOpen, setOpen] = useState(false);
  const [{ logEntries, text }, setContent] = useState<LogContent>(NO_CONTENT);
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
      .then((content) => {
        if (isCurrent) setContent(content);
      });
    return () => {
      isCurrent = false;
    };
    // `read` is not in this list, because it is another function at each drawing.
  }, [state, isOpen]);
  if (!isOffered && !isOpen) return null;
  const lines = logEntries.map(
    ({ time, message }) => `${new Date(time).toTimeString().slice(0, 8)} ${message}`,
  );
  const failure = hasFailed ? lastFailure(logEntries) : undefined;
  return (
    <details class="more" open={isOpen} onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary aria-label={translate('ofPlayer', { what: translate('log'), name: title })}>
        {translate('log')}
      </summary>
      <div role="status">
        {failure === undefined ? null : <p class="bad-text">{translate('failedSince', failure)}</p>}
        {text === '' ? null : <p class="quiet wrap">{text}</p>}
      </div>
      {logEntries.length === 0 ? null : <pre class="log">{lines.join('\n')}</pre>}
    </details>
  );
}

/** The line that systemd logs when a unit has failed. */
const FAILED = /: Failed with result '([^']+)'/;

/** The time and result of the last failure in the log; undefined if the log has no failure. */
function lastFailure(logEntries: readonly LogEntryRecord[]) {
  const { time = '', message = '' } = logEntries.filter((entry) => FAILED.test(entry.message)).at(-1) ?? {};
  const result = FAILED.exec(message)?.[1];
  return result === undefined ? undefined : { time: formatTime(time), result };
}
