// Reports when the file at a path may have been changed or replaced. It never opens the file.

import { type BigIntStats, type FSWatcher, statSync, watch } from 'node:fs';
import { basename, dirname, relative, sep } from 'node:path';

/**
 * Directories may come and go while a watch is being set. After this many tries, the next slow poll tries
 * again.
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

/** A text that changes when the file at the path is written or replaced; undefined if there is no file. */
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
 * Watches the file's directory, because only the directory's events report a rename over the file. If the
 * directory is missing, the nearest existing one above it is watched. A slow poll covers changes behind
 * links, and on disks without notifications.
 */
export class PathWatch {
  readonly #file: string;
  readonly #onChange: () => void;
  readonly #settleMs: number;
  readonly #slowPoll: NodeJS.Timeout;
  #watched: WatchedDirectory | undefined;
  #pendingReport: NodeJS.Timeout | undefined;
  #isClosed = false;

  /**
   * Calls `onChange` when the file should be read again, but never from within the constructor. Changes
   * within `settleMs` are reported together.
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
   * Watches the directory that exists now. While a watch is being set, a directory nearer to the file may be
   * made, or the watched one replaced. So the loop compares again after each new watch, which reports later
   * changes.
   */
  #watchDirectory(): void {
    for (let tries = 0; tries < WATCH_MAX_TRIES && !this.#isClosed; tries++) {
      const directory = directoryOf(this.#file);
      const isWatched =
        this.#watched?.path === directory.path && this.#watched.identity === directory.identity;
      if (isWatched) return;
      this.#endWatch();
      try {
        const watcher = watch(directory.path, (_, name) => this.#onDirectoryEvent(directory.path, name));
        // The kernel may end a watch by itself. The next slow poll sets another one.
        watcher.on('error', () => this.#onWatchEnded(watcher));
        this.#watched = { ...directory, watcher };
      } catch {
        // We lack permission, no watch is free, or the directory has gone. The slow poll tries again.
        return;
      }
    }
  }

  /** `name` is the name of the changed entry; null if the system gives none. */
  #onDirectoryEvent(directory: string, name: string | null): void {
    // This entry of the directory is the file, or the first directory on the way to it. If the directory is
    // `/a` and the file is `/a/b/c`, this is `b`.
    const [nextOnPath] = relative(directory, this.#file).split(sep);
    // The directory's own name means that the directory was removed or renamed. The watch may be dead then,
    // and the identity does not always show that: a new directory may get the inode number of the old one.
    const isOwnName = name === basename(directory);
    if (isOwnName) this.#endWatch();
    const mayConcernFile = name === null || name === nextOnPath || isOwnName;
    if (mayConcernFile && !this.#isClosed) this.#pendingReport ??= setTimeout(this.#report, this.#settleMs);
  }

  #onWatchEnded(watcher: FSWatcher): void {
    watcher.close();
    if (this.#watched?.watcher === watcher) this.#watched = undefined;
  }

  #endWatch(): void {
    this.#watched?.watcher.close();
    this.#watched = undefined;
  }
}
