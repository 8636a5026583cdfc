// Says "look again" when what lies at a path may be another file now: through its directory, so that renames over it are seen,
// and through every directory above, so that one that does not exist yet, or is replaced, is seen too. It opens nothing.

import { type BigIntStats, type FSWatcher, statSync, watch } from 'node:fs';
import { basename, dirname } from 'node:path';

/** Directories may come and go while watches are being set; after so many tries the slow look must do. */
const ARM_MAX_TRIES = 8;
const SLOW_LOOK_MS = 60_000;

export interface PathWatchOptions {
  /** In ms. A burst of changes is one; a file that is being written in place is given this time to be finished. */
  readonly settleMs: number;
  /** In ms. For what no watch tells: network file systems, mounts, a kernel without free watches. */
  readonly slowLookMs?: number;
}

interface Watched {
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

/** The directories above a path, the nearest first. */
function directoriesAbove(path: string): readonly string[] {
  const above: string[] = [];
  for (let directory = dirname(path); ; directory = dirname(directory)) {
    above.push(directory);
    if (directory === dirname(directory)) return above;
  }
}

export class PathWatch {
  readonly #path: string;
  readonly #onChange: () => void;
  readonly #settleMs: number;
  readonly #watched = new Map<string, Watched>();
  readonly #slowLook: NodeJS.Timeout;
  #settling: NodeJS.Timeout | undefined;
  #closed = false;
  #identity: string | undefined;
  /** The file's own name was in an event: it has changed, even if its identity is too coarse to show it. */
  #named = false;

  /** `onChange` is called some time after each change, never from within the constructor. */
  constructor(path: string, onChange: () => void, { settleMs, slowLookMs = SLOW_LOOK_MS }: PathWatchOptions) {
    this.#path = path;
    this.#onChange = onChange;
    this.#settleMs = settleMs;
    this.#slowLook = setInterval(() => this.#look(), slowLookMs);
    this.#arm();
    this.#identity = fileIdentity(path);
  }

  close(): void {
    this.#closed = true;
    clearInterval(this.#slowLook);
    clearTimeout(this.#settling);
    for (const { watcher } of this.#watched.values()) watcher.close();
    this.#watched.clear();
  }

  /** Watches every directory above that there is; again until nothing changed while the watches were being set. */
  #arm(): void {
    for (let tries = 0; tries < ARM_MAX_TRIES; tries++) {
      let stable = true;
      for (const directory of directoriesAbove(this.#path)) {
        const identity = directoryIdentity(directory);
        if (this.#watched.get(directory)?.identity === identity) continue;
        stable = false;
        this.#watched.get(directory)?.watcher.close();
        this.#watched.delete(directory);
        if (identity !== undefined) this.#watchDirectory(directory, identity);
      }
      if (stable) return;
    }
  }

  #watchDirectory(directory: string, identity: string): void {
    const own = directory === dirname(this.#path);
    const next = own ? basename(this.#path) : basename(this.#stepBelow(directory));
    try {
      const watcher = watch(directory, (_, name) => this.#stirred(own, next, name));
      // The kernel may end a watch by itself; the slow look goes on without it.
      watcher.on('error', () => watcher.close());
      this.#watched.set(directory, { identity, watcher });
    } catch {
      // No permission or no free watch: the slow look must do. Not remembered, so that it tries again.
    }
  }

  /** The directory below `directory` on the way to the file. */
  #stepBelow(directory: string): string {
    let step = dirname(this.#path);
    while (dirname(step) !== directory) step = dirname(step);
    return step;
  }

  #stirred(own: boolean, next: string, name: string | null): void {
    if (this.#closed) return;
    // In the own directory every name counts: the file may be a link to one beside it, or to a directory that is switched.
    if (!own && name !== null && name !== next) return;
    if (own && (name === null || name === next)) this.#named = true;
    this.#settling ??= setTimeout(() => this.#look(), this.#settleMs);
  }

  #look(): void {
    clearTimeout(this.#settling);
    this.#settling = undefined;
    this.#arm();
    const identity = fileIdentity(this.#path);
    const changed = this.#named || identity !== this.#identity;
    this.#named = false;
    this.#identity = identity;
    if (changed) this.#onChange();
  }
}
