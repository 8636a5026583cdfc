// Reports when the file at a path may be another one: watches its directory, so that renames over it are
// seen, or the nearest existing directory above. A slow poll finds changes that the watch misses (behind
// links, on disks without notifications). It opens nothing.

import { type BigIntStats, type FSWatcher, statSync, watch } from 'node:fs';
import { basename, dirname, relative, sep } from 'node:path';

/** Directories may come and go while a watch is being set; after so many tries the slow poll must do. */
const ARM_MAX_TRIES = 8;
const SLOW_POLL_MS = 60_000;

/** Undefined if nothing is accessible there: EACCES and ENOTDIR count as absent. */
function statOf(path: string): BigIntStats | undefined {
  try {
    return statSync(path, { bigint: true, throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}

/**
 * Identifies the file at a path and its state; undefined if there is none. A file that was created anew has
 * another identity.
 */
export function fileIdentity(path: string): string | undefined {
  const stat = statOf(path);
  return stat && `${stat.dev}:${stat.ino}:${stat.size}:${stat.mtimeNs}:${stat.ctimeNs}`;
}

/**
 * The file's directory, or the nearest existing one above it, with an identity that does not depend on its
 * content.
 */
function directoryOf(path: string): { readonly path: string; readonly identity: string } {
  const directory = dirname(path);
  const stat = statOf(directory);
  return stat?.isDirectory() || directory === path
    ? { path: directory, identity: `${stat?.dev}:${stat?.ino}` }
    : directoryOf(directory);
}

/**
 * Calls `onStir` when it is time to look, never from within this call, until the returned function is called.
 * `settleMs` joins a burst.
 */
export function watchPath(
  file: string,
  onStir: () => void,
  settleMs: number,
  slowPollMs = SLOW_POLL_MS,
): () => void {
  let watched: (ReturnType<typeof directoryOf> & { readonly watcher: FSWatcher }) | undefined;
  let settling: NodeJS.Timeout | undefined;
  let isClosed = false;
  const forget = (): void => {
    watched?.watcher.close();
    watched = undefined;
  };
  const stirred = (directory: string, name: string | null): void => {
    const [next] = relative(directory, file).split(sep);
    // An event with the directory's own name means that it was removed or renamed.
    if (isClosed || ![null, next, basename(directory)].includes(name)) return;
    settling ??= setTimeout(stir, settleMs);
  };
  /**
   * Watches the present directory; repeats until nothing changed while the watch was being set. Later changes
   * are reported.
   */
  const arm = (): void => {
    for (let tries = 0; tries < ARM_MAX_TRIES && !isClosed; tries++) {
      const directory = directoryOf(file);
      const { path, identity } = directory;
      if (watched?.path === path && watched.identity === identity) return;
      forget();
      try {
        const watcher = watch(path, (_, name) => stirred(path, name));
        // The kernel may end a watch by itself; the slow poll goes on without it.
        watcher.on('error', () => watcher.close());
        watched = { ...directory, watcher };
      } catch {
        return; // No permission, no free watch, or gone: the slow poll tries again.
      }
    }
  };
  const stir = (): void => {
    clearTimeout(settling);
    settling = undefined;
    arm();
    onStir();
  };
  const slowPoll = setInterval(stir, slowPollMs);
  arm();
  return () => {
    isClosed = true;
    clearInterval(slowPoll);
    clearTimeout(settling);
    forget();
  };
}
