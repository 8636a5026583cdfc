// Reports when the file at a path may have been made, changed, replaced or removed. Never opens the file.

import { type BigIntStats, type FSWatcher, statSync, watch } from 'node:fs';
import { basename, dirname, relative, sep } from 'node:path';

/**
 * Directories may come and go while a watch is being set. `#watchDirectory` tries this many times, and
 * the next slow poll calls it again.
 */
const WATCH_MAX_TRIES = 8;
const SLOW_POLL_MS = 60_000;

/** Undefined if nothing is at the path, or if the path cannot be followed (EACCES, ENOTDIR). */
function statOf(path: string): BigIntStats | undefined {
  try {
    return statSync(path, { bigint: true, throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}

/** A text that changes when the file at the path is written to or replaced; undefined if no file is there. */
export function fileIdentity(path: string): string | undefined {
  const stat = statOf(path);
  if (stat === undefined) return undefined;
  return `${stat.dev}:${stat.ino}:${stat.size}:${stat.mtimeNs}:${stat.ctimeNs}`;
}

interface Directory {
  readonly path: string;
  readonly identity: string;
}

/**
 * Returns the file's directory, or the nearest existing directory above it. The identity stays the same when
 * the directory's content changes.
 */
function directoryOf(path: string): Directory {
  const directory = dirname(path);
  const stat = statOf(directory);
  const isRoot = directory === path;
  if (isRoot || stat?.isDirectory()) return { path: directory, identity: `${stat?.dev}:${stat?.ino}` };
  return directoryOf(directory);
}

interface WatchedDirectory extends Directory {
  readonly watcher: FSWatcher;
}

/**
 * Watches the file's directory, because only events of the directory report that a rename has replaced the
 * file. If the directory is missing, the nearest existing directory above it is watched. A change of a link's
 * target causes no event, and some file systems report no events at all. So a slow poll reports regularly,
 * too.
 */
export class PathWatch {
  readonly #file: string;
  readonly #onChange: () => void;
  readonly #settleMs: number;
  readonly #slowPoll: NodeJS.Timeout;
  #watchedDirectory: WatchedDirectory | undefined;
  #pendingReport: NodeJS.Timeout | undefined;
  #isClosed = false;

  /**
   * `onChange` is called when the file should be read again, but never before the constructor returns. One
   * call reports all events within `settleMs`.
   */
  constructor(file: string, onChange: () => void, settleMs: number, slowPollMs = SLOW_POLL_MS) {
    this.#file = file;
    this.#onChange = onChange;
    this.#settleMs = settleMs;
    this.#slowPoll = setInterval(this.#report, slowPollMs);
    this.#watchDirectory();
  }

  /** After this call nothing is reported any more. */
  close(): void {
    this.#isClosed = true;
    clearInterval(this.#slowPoll);
    clearTimeout(this.#pendingReport);
    this.#endWatch();
  }

  readonly #report = (): void => {
    clearTimeout(this.#pendingReport);
    this.#pendingReport = undefined;
    this.#watchDirectory();
    this.#onChange();
  };

  /**
   * Watches the directory that `directoryOf` returns now. While the watch is being set, a directory nearer to
   * the file may be made, or another directory may replace the watched one. So the loop calls `directoryOf`
   * again after it has set a watch. The watch reports all later changes.
   */
  #watchDirectory(): void {
    for (let tries = 0; tries < WATCH_MAX_TRIES && !this.#isClosed; tries++) {
      const directory = directoryOf(this.#file);
      const isWatched =
        this.#watchedDirectory?.path === directory.path &&
        this.#watchedDirectory.identity === directory.identity;
      if (isWatched) return;
      this.#endWatch();
      try {
        const watcher = watch(directory.path, (_, name) => this.#onDirectoryEvent(directory.path, name));
        // The kernel may end a watch by itself. The next slow poll sets another one.
        watcher.on('error', () => this.#onWatchEnded(watcher));
        this.#watchedDirectory = { ...directory, watcher };
      } catch {
        // We lack permission, the system allows no more watches, or the directory has gone. The next slow
        // poll tries again.
        return;
      }
    }
  }

  /** `name` is the name of the changed entry; null if the system reports no name. */
  #onDirectoryEvent(directoryPath: string, name: string | null): void {
    // This entry of the directory is the file, or the first directory on the way to it. If the directory is
    // `/a` and the file is `/a/b/c`, this is `b`.
    const [nextOnPath] = relative(directoryPath, this.#file).split(sep);
    // An event with the directory's own name means that the directory was removed or renamed. The watch may
    // report nothing more then. The directory's identity may still be the same, because a new directory may
    // get the inode number of the old one.
    const isOwnName = name === basename(directoryPath);
    if (isOwnName) this.#endWatch();
    const mayConcernFile = name === null || name === nextOnPath || isOwnName;
    if (mayConcernFile && !this.#isClosed) this.#pendingReport ??= setTimeout(this.#report, this.#settleMs);
  }

  #onWatchEnded(watcher: FSWatcher): void {
    watcher.close();
    if (this.#watchedDirectory?.watcher === watcher) this.#watchedDirectory = undefined;
  }

  #endWatch(): void {
    this.#watchedDirectory?.watcher.close();
    this.#watchedDirectory = undefined;
  }
}
