// Tells that the file at a path may be another one now: through its directory, so that renames over it are seen, and through
// every directory above, so that one that does not exist yet, or is replaced, is seen too. It reads nothing of the file.

import { type FSWatcher, statSync, watch } from 'node:fs';
import { basename, dirname } from 'node:path';

/** Directories may come and go while watches are being set; after so many tries the slow look must do. */
const ARM_MAX_TRIES = 8;
/** A burst of changes is one; a file that is being written in place is given this time to be finished. */
const SETTLE_MS = 40;
/** For what no watch tells: network file systems, mounts, a kernel without free watches. */
const SLOW_LOOK_MS = 60_000;

interface Watched {
  readonly identity: string;
  readonly watcher: FSWatcher;
}

/** What lies at a path now; '' when there is nothing that we may look at. */
function identityOf(path: string, withChange: boolean): string {
  try {
    const stat = statSync(path, { bigint: true, throwIfNoEntry: false });
    if (stat === undefined) return '';
    const node = `${stat.dev}:${stat.ino}`;
    return withChange ? `${node}:${stat.size}:${stat.mtimeNs}:${stat.ctimeNs}` : node;
  } catch {
    return ''; // EACCES, ENOTDIR: as good as absent.
  }
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
  readonly #watched = new Map<string, Watched>();
  readonly #slowLook: NodeJS.Timeout;
  #settling: NodeJS.Timeout | undefined;
  #identity: string;
  /** The file's own name was in an event: it has changed, even if its identity is too coarse to show it. */
  #named = false;

  /** `onChange` is called some time after each change, never from within the constructor. */
  constructor(path: string, onChange: () => void, slowLookMs = SLOW_LOOK_MS) {
    this.#path = path;
    this.#onChange = onChange;
    this.#slowLook = setInterval(() => this.#look(), slowLookMs);
    this.#arm();
    this.#identity = identityOf(path, true);
  }

  close(): void {
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
        const identity = identityOf(directory, false);
        if ((this.#watched.get(directory)?.identity ?? '') === identity) continue;
        stable = false;
        this.#watched.get(directory)?.watcher.close();
        this.#watched.delete(directory);
        if (identity !== '') this.#watchDirectory(directory, identity);
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
    // In the own directory every name counts: the file may be a link to one beside it, or to a directory that is switched.
    if (!own && name !== null && name !== next) return;
    if (own && (name === null || name === next)) this.#named = true;
    this.#settling ??= setTimeout(() => this.#look(), SETTLE_MS);
  }

  #look(): void {
    clearTimeout(this.#settling);
    this.#settling = undefined;
    this.#arm();
    const identity = identityOf(this.#path, true);
    const changed = this.#named || identity !== this.#identity;
    this.#named = false;
    this.#identity = identity;
    if (changed) this.#onChange();
  }
}
