// Reports when the file at a path may be another one: watches its directory, so that renames over it are seen, or the nearest existing
// directory above. A slow poll finds changes that the watch misses (behind links, on disks without notifications). It opens nothing.

import { type BigIntStats, type FSWatcher, statSync, watch } from 'node:fs';
import { basename, dirname, relative, sep } from 'node:path';

/** Directories may come and go while a watch is being set; after so many tries the slow poll must do. */
const ARM_MAX_TRIES = 8;
const SLOW_LOOK_MS = 60_000;

export interface PathWatchOptions {
  /** In ms. Joins a burst of changes into one; also gives a file that is being written in place time to be finished. */
  readonly settleMs: number;
  /** In ms. */
  readonly slowLookMs?: number;
}

/** Undefined if nothing is accessible there: EACCES and ENOTDIR count as absent. */
function statOf(path: string): BigIntStats | undefined {
  try {
    return statSync(path, { bigint: true, throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}

/** Identifies the file at a path and its state; undefined if there is none. A file that was created anew has another identity. */
export function fileIdentity(path: string): string | undefined {
  const stat = statOf(path);
  return stat && `${stat.dev}:${stat.ino}:${stat.size}:${stat.mtimeNs}:${stat.ctimeNs}`;
}

interface Directory {
  readonly path: string;
  /** Does not depend on the directory's content. */
  readonly identity: string;
}

/** The file's directory, or the nearest existing one above it. */
function directoryOf(path: string): Directory {
  const directory = dirname(path);
  const stat = statOf(directory);
  return stat?.isDirectory() || directory === path
    ? { path: directory, identity: `${stat?.dev}:${stat?.ino}` }
    : directoryOf(directory);
}

export class PathWatch {
  readonly #path: string;
  readonly #onStir: () => void;
  readonly #options: PathWatchOptions;
  readonly #slowLook: NodeJS.Timeout;
  #watched: (Directory & { readonly watcher: FSWatcher }) | undefined;
  #settling: NodeJS.Timeout | undefined;
  #closed = false;

  /** `onStir` is called when it is time to look, never from within the constructor. */
  constructor(path: string, onStir: () => void, options: PathWatchOptions) {
    this.#path = path;
    this.#onStir = onStir;
    this.#options = options;
    this.#slowLook = setInterval(() => this.#stir(), options.slowLookMs ?? SLOW_LOOK_MS);
    this.#arm();
  }

  close(): void {
    this.#closed = true;
    clearInterval(this.#slowLook);
    clearTimeout(this.#settling);
    this.#forget();
  }

  /** Watches the present directory; repeats until nothing changed while the watch was being set. Later changes are reported. */
  #arm(): void {
    for (let tries = 0; tries < ARM_MAX_TRIES && !this.#closed; tries++) {
      const directory = directoryOf(this.#path);
      const { path, identity } = directory;
      if (this.#watched?.path === path && this.#watched.identity === identity) return;
      this.#forget();
      try {
        const watcher = watch(path, (_, name) => this.#stirred(path, name));
        // The kernel may end a watch by itself; the slow poll goes on without it.
        watcher.on('error', () => watcher.close());
        this.#watched = { ...directory, watcher };
      } catch {
        return; // No permission, no free watch, or gone: the slow poll tries again.
      }
    }
  }

  #forget(): void {
    this.#watched?.watcher.close();
    this.#watched = undefined;
  }

  #stirred(directory: string, name: string | null): void {
    const [next] = relative(directory, this.#path).split(sep);
    // An event with the directory's own name means that it was removed or renamed.
    if (this.#closed || ![null, next, basename(directory)].includes(name)) return;
    this.#settling ??= setTimeout(() => this.#stir(), this.#options.settleMs);
  }

  #stir(): void {
    clearTimeout(this.#settling);
    this.#settling = undefined;
    this.#arm();
    this.#onStir();
  }
}
