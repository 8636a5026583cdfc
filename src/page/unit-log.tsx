// Draws the newest lines of a unit's log, and the last failure in it. Reads the lines only while the log is
// open.

import { useEffect, useState } from 'preact/hooks';
import type { LogEntryRecord } from '../client/client.js';
import { translate } from './language.js';
import { formatTime } from './time.js';

interface UnitLogProps {
  readonly read: () => Promise<readonly LogEntryRecord[]>;
  /** The log is read again when this changes: the unit's state, or the time at which an upgrade ended. */
  readonly readAgainOn: string | undefined;
  /** True if the last failure in the log is displayed above the lines. */
  readonly showsFailure: boolean;
  readonly title: string;
  /** True if the log can be opened. A log that is open stays, even if this becomes false. */
  readonly isOffered: boolean;
}

interface LogContent {
  readonly logEntries: readonly LogEntryRecord[];
  /** The text that says why there are no entries; '' if there are entries, or if the log is not read yet. */
  readonly emptyReason: string;
}

const NO_CONTENT: LogContent = { logEntries: [], emptyReason: '' };

export function UnitLog({ read, readAgainOn, showsFailure, title, isOffered }: UnitLogProps) {
  const [isOpen, setOpen] = useState(false);
  const [{ logEntries, emptyReason }, setContent] = useState<LogContent>(NO_CONTENT);
  useEffect(() => {
    if (!isOpen) return undefined;
    // This controller is only a flag. It does not end the request, but an answer after `abort` is ignored.
    const effect = new AbortController();
    read()
      .then(
        (entries) => ({ logEntries: entries, emptyReason: entries.length === 0 ? translate('noLog') : '' }),
        ({ message: reason }: Error) => {
          const what = translate('couldNotRead');
          return { logEntries: [], emptyReason: translate('because', { what, reason }) };
        },
      )
      .then((content) => {
        if (!effect.signal.aborted) setContent(content);
      });
    return () => effect.abort();
    // `read` is no input of the effect, because each drawing passes another function.
  }, [readAgainOn, isOpen]);
  if (!isOffered && !isOpen) return null;
  const lines = logEntries.map(({ time, message }) => {
    const timeOfDay = new Date(time).toTimeString().slice(0, 8);
    return `${timeOfDay} ${message}`;
  });
  const failure = showsFailure ? lastFailure(logEntries) : undefined;
  return (
    <details class="more" open={isOpen} onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary aria-label={translate('labelWithName', { what: translate('log'), name: title })}>
        {translate('log')}
      </summary>
      <div role="status">
        {failure === undefined ? null : <p class="bad-text">{translate('failedSince', failure)}</p>}
        {emptyReason === '' ? null : <p class="quiet wrap">{emptyReason}</p>}
      </div>
      {logEntries.length === 0 ? null : <pre class="log">{lines.join('\n')}</pre>}
    </details>
  );
}

/** The line that systemd logs when a unit has failed: `mpd.service: Failed with result 'exit-code'.` */
const FAILED_LINE = /: Failed with result '([^']+)'/;

/** The time and result of the last failure in the log; undefined if the log has no failure. */
function lastFailure(logEntries: readonly LogEntryRecord[]) {
  const failures = logEntries.filter(({ message }) => FAILED_LINE.test(message));
  const { time = '', message = '' } = failures.at(-1) ?? {};
  const result = FAILED_LINE.exec(message)?.[1];
  return result === undefined ? undefined : { time: formatTime(time), result };
}
