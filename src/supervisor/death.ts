// Why a thread ended, in one line fit for `/health`. Pure: it reads what piscina rejected with (measured on 5.3).

const REASON_CHARS_MAX = 200;
const EXIT_MESSAGE = /^worker exited with code: (-?\d+)$/;

/** How a thread ended. `stack` is for the log only. */
export interface Death {
  readonly reason: string;
  readonly stack?: string;
}

function oneLine(text: string): string {
  const line = text.trim().split('\n', 1)[0] ?? '';
  return line.length > REASON_CHARS_MAX ? `${line.slice(0, REASON_CHARS_MAX)}...` : line;
}

/** `error` is anything: an actor may throw what it likes. */
export function deathOf(error: unknown): Death {
  if (!(error instanceof Error)) return { reason: oneLine(`threw ${String(error)}`) };
  if ('code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY') return { reason: 'out of memory' };
  const exit = EXIT_MESSAGE.exec(error.message);
  if (exit) return { reason: `exit code ${exit[1]}` };
  const reason = oneLine(error.message) || error.name;
  return error.stack === undefined ? { reason } : { reason, stack: error.stack };
}

/** An actor's `run()` resolved although nobody asked it to stop. */
export const RETURNED: Death = { reason: 'returned without being asked to' };
