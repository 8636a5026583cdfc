// Waits for a delay, or less if a sound server's socket appears. It only says "look now": whether anybody listens there is found
// out by connecting.

import { fileIdentity, PathWatch } from '../path-watch.js';

/** A socket is whole as soon as it is there: no time to settle. */
const SETTLE_MS = 0;

/** A socket to wait for, with its `fileIdentity` before the attempt that failed: a server that restarts leaves another one. */
export interface AwaitedSocket {
  readonly path: string;
  readonly before: string | undefined;
}

/**
 * Waits for `delayMs`, or less if a socket appears or is replaced. Resolves to whether one did; at once, to false, when
 * the signal is aborted.
 */
export function socketOrDelay(
  awaited: readonly AwaitedSocket[],
  delayMs: number,
  signal: AbortSignal,
): Promise<boolean> {
  return new Promise((resolve) => {
    const end = (appeared: boolean) => {
      clearTimeout(timer);
      signal.removeEventListener('abort', aborted);
      for (const watch of watches) watch.close();
      resolve(appeared);
    };
    const aborted = () => end(false);
    const timer = setTimeout(aborted, delayMs);
    const watches = awaited.map(({ path }) => {
      const onChange = () => {
        if (fileIdentity(path) !== undefined) end(true);
      };
      return new PathWatch(path, onChange, { settleMs: SETTLE_MS });
    });
    signal.addEventListener('abort', aborted);
    // What happened before the watches were set is not told by them.
    const appeared = awaited.some(({ path, before }) => ![undefined, before].includes(fileIdentity(path)));
    if (signal.aborted || appeared) end(!signal.aborted);
  });
}

/**
 * Calls `replaced`, once, when another file lies at `path` than now: a server that hangs in the handshake must not keep us
 * from the one that has taken its place. Answers with what ends the watch.
 */
export function onReplaced(path: string, replaced: () => void): () => void {
  const before = fileIdentity(path);
  const onChange = () => {
    if ([undefined, before].includes(fileIdentity(path))) return;
    watch.close();
    replaced();
  };
  const watch = new PathWatch(path, onChange, { settleMs: SETTLE_MS });
  return () => watch.close();
}
