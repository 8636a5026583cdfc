// Tells when the sound server's socket appears, through the directory that holds it, or, while that is missing, through
// the nearest ancestor that exists. It only says "look now": whether anybody listens there is found out by connecting.

import { type FSWatcher, statSync, watch } from 'node:fs';
import { basename, dirname } from 'node:path';

/** Directories may come and go while a watch is being set; after this many tries the back-off alone must do. */
const REARM_MAX_TRIES = 16;

/** Which file lies at a path now; undefined when there is none. A server that restarts leaves another one. */
export function fileIdentity(path: string): string | undefined {
  try {
    const stat = statSync(path, { throwIfNoEntry: false });
    return stat === undefined ? undefined : `${stat.ino} ${stat.ctimeMs}`;
  } catch {
    // Not ours to look at (EACCES, a file where a directory should be): as good as absent.
    return undefined;
  }
}

/** A socket to wait for, with its identity before the attempt that failed. */
export interface Awaited {
  readonly path: string;
  readonly before: string | undefined;
}

class PathWatch {
  readonly #awaited: Awaited;
  readonly #onAppear: () => void;
  #watcher: FSWatcher | undefined;
  #closed = false;

  constructor(awaited: Awaited, onAppear: () => void) {
    this.#awaited = awaited;
    this.#onAppear = onAppear;
    this.#arm();
  }

  close(): void {
    this.#closed = true;
    this.#watcher?.close();
  }

  /** Watches as near to the socket as possible, then looks again: what happened before the watch was set is not told. */
  #arm(): void {
    const { path, before } = this.#awaited;
    for (let tries = 0; tries < REARM_MAX_TRIES; tries++) {
      this.#watcher?.close();
      const next = this.#watchNearest();
      if (next === undefined) return;
      const appeared = fileIdentity(next);
      if (appeared === undefined) return;
      if (next === path) {
        // Not from within the constructor: the owner does not hold this watch yet.
        if (appeared !== before) setImmediate(() => this.#tell());
        return;
      }
    }
  }

  /** Answers with the next part of the way to the socket, whose appearance is watched for; undefined: cannot watch. */
  #watchNearest(): string | undefined {
    for (let part = this.#awaited.path; ; part = dirname(part)) {
      const directory = dirname(part);
      try {
        this.#watcher = watch(directory, (_, name) => this.#stirred(part, name));
        // The kernel may end a watch by itself; the back-off goes on without it.
        this.#watcher.on('error', () => this.#watcher?.close());
        return part;
      } catch {
        if (directory === part) return undefined;
      }
    }
  }

  #stirred(part: string, name: string | null): void {
    if (this.#closed) return;
    const directoryGone = fileIdentity(dirname(part)) === undefined;
    if (!directoryGone && name !== null && name !== basename(part)) return;
    if (directoryGone) this.#arm();
    else if (fileIdentity(part) === undefined) return;
    else if (part === this.#awaited.path) this.#tell();
    else this.#arm();
  }

  #tell(): void {
    if (this.#closed) return;
    this.close();
    this.#onAppear();
  }
}

/**
 * Waits for `delayMs`, or less if a socket appears or is replaced. Resolves to whether one did; at once, to false, when
 * the signal is aborted.
 */
export function socketOrDelay(
  awaited: readonly Awaited[],
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
    const watches = awaited.map((one) => new PathWatch(one, () => end(true)));
    signal.addEventListener('abort', aborted);
    if (signal.aborted) end(false);
  });
}
