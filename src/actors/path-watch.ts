// Says "look again" when what lies at a path may be another file now: through the directory in which it lies, so that renames over
// it are seen, or, while that is not there, through the nearest one above it that is. What else changes on the way, behind links
// and on disks that tell nothing, the slow look finds. It opens nothing.

import { type BigIntStats, type FSWatcher, statSync, watch } from 'node:fs';
import { basename, dirname, relative, sep } from 'node:path';

/** Directories may come and go while a watch is being set; after so many tries the slow look must do. */
const ARM_MAX_TRIES = 8;
const SLOW_LOOK_MS = 60_000;

export interface PathWatchOptions {
  /** In ms. A burst of changes is one; a file that is being written in place is given this time to be finished. */
  readonly settleMs: number;
  /** In ms. */
  readonly slowLookMs?: number;
  /** It sets no watch but by `arm`: for a disk that may not answer, which would hold whoever looks at it. */
  readonly byHand?: boolean;
}

/** undefined when there is nothing that we may look at: EACCES and ENOTDIR are as good as absent. */
function statOf(path: string): BigIntStats | undefined {
  try {
    return statSync(path, { bigint: true, throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}

/** Which file, in which state, a path leads to now; undefined when there is none. One that is made anew is another one. */
export function fileIdentity(path: string): string | undefined {
  const stat = statOf(path);
  return stat && `${stat.dev}:${stat.ino}:${stat.size}:${stat.mtimeNs}:${stat.ctimeNs}`;
}

interface Directory {
  readonly path: string;
  /** What happens inside of it leaves it the same one. */
  readonly identity: string;
}

/** The one in which a file lies, or would lie next. */
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
    if (!options.byHand) this.arm();
  }

  close(): void {
    this.#closed = true;
    clearInterval(this.#slowLook);
    clearTimeout(this.#settling);
    this.#forget();
  }

  /** Watches the directory as it is now; again until nothing changed while the watch was being set. What changes then is told. */
  arm(): void {
    for (let tries = 0; tries < ARM_MAX_TRIES && !this.#closed; tries++) {
      const directory = directoryOf(this.#path);
      const { path, identity } = directory;
      if (this.#watched?.path === path && this.#watched.identity === identity) return;
      this.#forget();
      try {
        const watcher = watch(path, (_, name) => this.#stirred(path, name));
        // The kernel may end a watch by itself; the slow look goes on without it.
        watcher.on('error', () => watcher.close());
        this.#watched = { ...directory, watcher };
      } catch {
        return; // No permission, no free watch, or gone: the slow look tries again.
      }
    }
  }

  #forget(): void {
    this.#watched?.watcher.close();
    this.#watched = undefined;
  }

  #stirred(directory: string, name: string | null): void {
    const [next] = relative(directory, this.#path).split(sep);
    // By its own name a directory is removed, or renamed.
    if (this.#closed || ![null, next, basename(directory)].includes(name)) return;
    this.#settling ??= setTimeout(() => this.#stir(), this.#options.settleMs);
  }

  #stir(): void {
    clearTimeout(this.#settling);
    this.#settling = undefined;
    if (!this.#options.byHand) this.arm();
    this.#onStir();
  }
}
