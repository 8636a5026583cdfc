// The newest lines of a unit's log, fetched only while they are open; of a failed unit also since when and how it failed.

import { useEffect, useState } from 'preact/hooks';
import type { LogEntryRecord } from '../client/client.js';
import { formatTime, translate } from './language.js';

interface UnitLogProps {
  readonly read: () => Promise<readonly LogEntryRecord[]>;
  /** The log is read again when this changes. */
  readonly state: string | undefined;
  readonly hasFailed: boolean;
  readonly title: string;
  readonly isOpen: boolean;
  readonly open: (isOpen: boolean) => void;
}

export function UnitLog({ read, state, hasFailed, title, isOpen, open }: UnitLogProps) {
  const [log, setLog] = useState<readonly LogEntryRecord[] | string>('');
  useEffect(() => {
    if (!isOpen) return undefined;
    let isCurrent = true;
    read().then(
      (entries) => isCurrent && setLog(entries),
      (error: unknown) =>
        isCurrent &&
        setLog(
          translate('because', {
            what: translate('couldNotRead'),
            reason: error instanceof Error ? error.message : '',
          }),
        ),
    );
    return () => {
      isCurrent = false;
    };
    // `read` is made anew at each rendering.
  }, [state, isOpen]);
  const entries = typeof log === 'string' ? [] : log;
  const end = hasFailed ? endIn(entries) : undefined;
  return (
    <details class="more" open={isOpen} onToggle={({ currentTarget }) => open(currentTarget.open)}>
      <summary aria-label={translate('ofPlayer', { what: translate('log'), name: title })}>
        {translate('log')}
      </summary>
      <div role="status">
        {end === undefined ? null : (
          <p class="bad-text">
            {translate('failedSince', { time: formatTime(end.time), result: end.result })}
          </p>
        )}
        {typeof log === 'string' ? <p class="quiet wrap">{log}</p> : null}
        {log.length === 0 && typeof log !== 'string' ? <p class="quiet">{translate('noLog')}</p> : null}
      </div>
      {entries.length === 0 ? null : <pre class="log">{entries.map(lineOf).join('\n')}</pre>}
    </details>
  );
}

/** systemd's own words at the end of a run, the newest. */
const FAILED = /: Failed with result '([^']+)'/;

function endIn(entries: readonly LogEntryRecord[]) {
  const { time, message } = entries.findLast((entry) => FAILED.test(entry.message)) ?? {};
  const result = FAILED.exec(message ?? '')?.[1];
  return time === undefined || result === undefined ? undefined : { time, result };
}

function lineOf({ time, message }: LogEntryRecord): string {
  return `${new Date(time).toTimeString().slice(0, 8)} ${message}`;
}
