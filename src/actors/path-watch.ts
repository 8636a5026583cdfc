// Reports when the file at a path may be another one: watches its directory, so that renames over it are
// seen, or the nearest existing directory above. A slow poll finds changes that the watch misses (behind
// links, on disks without notifications). It opens nothing.

import { type BigIntStats, type FSWatcher, statSync, watch } from 'node:fs';
import { basename, dirname, relative, sep } from 'node:path';

/** Directories may come and go while a watch is being set; after so many tries the slow poll must do. */
const WATCH_MAX_TRIES = 8;
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

interface Directory {
  readonly path: string;
  readonly identity: string;
}

/**
 * The file's directory, or the nearest existing one above it, with an identity that does not depend on its
 * content.
 */
function directoryOf(path: string): Directory {
  const directory = dirname(path);
  const stat = statOf(directory);
  return stat?.isDirectory() || directory === path
    ? { path: directory, identity: `${stat?.dev}:${stat?.ino}` }
    : directoryOf(directory);
}

interface WatchedDirectory extends Directory {
  readonly watcher: FSWatcher;
}

export class PathWatch {
  readonly #file: string;
  readonly #onChange: () => void;
  readonly #settleMs: number;
  readonly #slowPoll: NodeJS.Timeout;
  #watched: WatchedDirectory | undefined;
  #settling: NodeJS.Timeout | undefined;
  #isClosed = false;

  /**
   * Calls `onChange` when the file should be read again, never from within the constructor. Changes within
   * `settleMs` are reported together.
   */
  constructor(file: string, onChange: () => void, settleMs: number, slowPollMs = SLOW_POLL_MS) {
    this.#file = file;
    this.#onChange = onChange;
    this.#settleMs = settleMs;
    this.#slowPoll = setInterval(this.#report, slowPollMs);
    this.#watchDirectory();
  }

  /** Nothing is reported any more. */
  close(): void {
    this.#isClosed = true;
    clearInterval(this.#slowPoll);
    clearTimeout(this.#settling);
    this.#endWatch();
  }

  readonly #report = (): void => {
    clearTimeout(this.#settling);
    this.#settling = undefined;
    this.#watchDirectory();
    this.#onChange();
  };

  /**
   * Watches the present directory; repeats until nothing changed while the watch was being set. Later changes
   * are reported.
   */
  #watchDirectory(): void {
    for (let tries = 0; tries < WATCH_MAX_TRIES && !this.#isClosed; tries++) {
      const directory = directoryOf(this.#file);
      if (this.#watched?.path === directory.path && this.#watched.identity === directory.identity) return;
      this.#endWatch();
      try {
        const watcher = watch(directory.path, (_, name) => this.#directoryChanged(directory.path, name));
        // The kernel may end a watch by itself; the slow poll goes on without it.
        watcher.on('error', () => watcher.close());
        this.#watched = { ...directory, watcher };
      } catch {
        return; // No permission, no free watch, or gone: the slow poll tries again.
      }
    }
  }

  #directoryChanged(directory: string, name: string | null): void {
    const [next] = relative(directory, this.#file).split(sep);
    // An event with the directory's own name means that it was removed or renamed.
    if (this.#isClosed || ![null, next, basename(directory)].includes(name)) return;
    this.#settling ??= setTimeout(this.#report, this.#settleMs);
  }

  #endWatch(): void {
    this.#watched?.watcher.close();
    this.#watched = undefined;
  }
}
