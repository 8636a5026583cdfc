// Says "look again" when what lies at a path may be another file now: through the directory in which it really lies, so that
// renames over it are seen, and through every directory on the way there, links and what they lead to included, so that one that
// does not exist yet, or is replaced, is seen too. It opens nothing.

import { type BigIntStats, type FSWatcher, readlinkSync, statSync, watch } from 'node:fs';
import { dirname, join } from 'node:path';

/** Directories may come and go while watches are being set; after so many tries the slow look must do. */
const ARM_MAX_TRIES = 8;
const SLOW_LOOK_MS = 60_000;
/** As the kernel has it: behind so many it gives up, and so does whoever opens the file. */
const LINKS_MAX = 40;

export interface PathWatchOptions {
  /** In ms. A burst of changes is one; a file that is being written in place is given this time to be finished. */
  readonly settleMs: number;
  /** In ms. For what no watch tells: network file systems, mounts, a kernel without free watches. */
  readonly slowLookMs?: number;
}

interface WatchedDirectory {
  readonly identity: string;
  readonly watcher: FSWatcher;
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

/** As `fileIdentity`; what happens inside a directory leaves it the same one. */
function directoryIdentity(path: string): string | undefined {
  const stat = statOf(path);
  return stat && `${stat.dev}:${stat.ino}`;
}

/** A name that is looked up on the way to a file, in the directory where it really lies. */
interface PathStep {
  readonly directory: string;
  readonly name: string;
  /** The file's own name, or that of a link which stands for it. */
  readonly isLast: boolean;
}

/** Every name that the kernel looks up on its way to an absolute path, links followed as it follows them. */
function wayTo(path: string): readonly PathStep[] {
  const way: PathStep[] = [];
  const names = namesOf(path);
  let directory = '/';
  let links = 0;
  for (let name = names.shift(); name !== undefined; name = names.shift()) {
    if (name === '..') {
      directory = dirname(directory);
      continue;
    }
    way.push({ directory, name, isLast: names.length === 0 });
    const target = linkTarget(join(directory, name));
    if (target === undefined) {
      directory = join(directory, name);
      continue;
    }
    links += 1;
    if (links > LINKS_MAX) break;
    names.unshift(...namesOf(target));
    if (target.startsWith('/')) directory = '/';
  }
  return way;
}

function namesOf(path: string): string[] {
  return path.split('/').filter((name) => name !== '' && name !== '.');
}

/** undefined for what is no link, or nothing that we may look at. */
function linkTarget(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch {
    return undefined;
  }
}

/** Watches, and looks only when it is told to: looking may take for ever where a network does not answer. */
export class LazyWatch {
  readonly #path: string;
  readonly #onStir: () => void;
  readonly #settleMs: number;
  readonly #watched = new Map<string, WatchedDirectory>();
  readonly #slowLook: NodeJS.Timeout;
  #way: readonly PathStep[] = [];
  #settling: NodeJS.Timeout | undefined;
  #closed = false;
  #identity: string | undefined;
  /** The file's own name was in an event: it has changed, even if its identity is too coarse to show it. */
  #named = false;

  /** `onStir` is called when it is time to look, never from within the constructor. Nothing is watched before the first look. */
  constructor(path: string, onStir: () => void, { settleMs, slowLookMs = SLOW_LOOK_MS }: PathWatchOptions) {
    this.#path = path;
    this.#onStir = onStir;
    this.#settleMs = settleMs;
    this.#slowLook = setInterval(() => this.#stir(), slowLookMs);
  }

  close(): void {
    this.#closed = true;
    clearInterval(this.#slowLook);
    clearTimeout(this.#settling);
    for (const { watcher } of this.#watched.values()) watcher.close();
    this.#watched.clear();
  }

  /** Whether the file may be another one than at the last look. What changes from now on is told. */
  look(): boolean {
    if (this.#closed) return false;
    this.#arm();
    const identity = fileIdentity(this.#path);
    const changed = this.#named || identity !== this.#identity;
    this.#named = false;
    this.#identity = identity;
    return changed;
  }

  /** Watches every directory on the way that there is; again until nothing changed while the watches were being set. */
  #arm(): void {
    for (let tries = 0; tries < ARM_MAX_TRIES; tries++) {
      let stable = true;
      this.#way = wayTo(this.#path);
      const directories = new Set(this.#way.map(({ directory }) => directory));
      for (const directory of this.#watched.keys()) {
        if (!directories.has(directory)) this.#forget(directory);
      }
      for (const directory of directories) {
        const identity = directoryIdentity(directory);
        if (this.#watched.get(directory)?.identity === identity) continue;
        stable = false;
        this.#forget(directory);
        if (identity !== undefined) this.#watchDirectory(directory, identity);
      }
      if (stable) return;
    }
  }

  #forget(directory: string): void {
    this.#watched.get(directory)?.watcher.close();
    this.#watched.delete(directory);
  }

  #watchDirectory(directory: string, identity: string): void {
    try {
      const watcher = watch(directory, (_, name) => this.#stirred(directory, name));
      // The kernel may end a watch by itself; the slow look goes on without it.
      watcher.on('error', () => watcher.close());
      this.#watched.set(directory, { identity, watcher });
    } catch {
      // No permission or no free watch: the slow look must do. Not remembered, so that it tries again.
    }
  }

  #stirred(directory: string, name: string | null): void {
    if (this.#closed) return;
    const met = this.#way.filter((step) => step.directory === directory && [null, step.name].includes(name));
    if (met.length === 0) return;
    if (met.some(({ isLast }) => isLast)) this.#named = true;
    this.#settling ??= setTimeout(() => this.#stir(), this.#settleMs);
  }

  #stir(): void {
    clearTimeout(this.#settling);
    this.#settling = undefined;
    this.#onStir();
  }
}

/** Watches, and looks at once: for what lies on this machine. */
export class PathWatch {
  readonly #watch: LazyWatch;

  /** `onChange` is called some time after each change, never from within the constructor. */
  constructor(path: string, onChange: () => void, options: PathWatchOptions) {
    this.#watch = new LazyWatch(path, () => this.#watch.look() && onChange(), options);
    this.#watch.look();
  }

  close(): void {
    this.#watch.close();
  }
}
