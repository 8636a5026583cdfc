// Watches the folder in which a manager keeps a link for every running unit: without signals, this shows starts and ends.
// `invocation:NAME` exists exactly while the unit is neither inactive nor failed, and points to its invocation id (measured, systemd
// 252); nothing else can be learned from it.

import { type FSWatcher, lstatSync, watch } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '../../clock.js';

const PREFIX = 'invocation:';
/** The folder is created with the user's session; its bus follows soon. */
const TRY_AGAIN_MS = 5_000;

export class UnitsDirectory {
  readonly path: string;
  readonly #clock: Clock;
  readonly #onChange: (unit: string | undefined) => void;
  #watcher: FSWatcher | undefined;
  #cancelRetry: (() => void) | undefined;
  #open = false;

  /** `onChange` gets the unit's primary name, or undefined if any unit may have changed. */
  constructor(path: string, clock: Clock, onChange: (unit: string | undefined) => void) {
    this.path = path;
    this.#clock = clock;
    this.#onChange = onChange;
  }

  /** For `/health`. */
  get described(): string {
    return this.#watcher === undefined ? `${this.path} is not there` : `watching ${this.path}`;
  }

  open(): void {
    if (this.#open) return;
    this.#open = true;
    this.#tryToWatch();
  }

  close(): void {
    this.#open = false;
    this.#cancelRetry?.();
    this.#letGo();
  }

  /** True if the unit is at rest; undefined if the folder cannot show it. */
  atRest(unit: string): boolean | undefined {
    if (this.#watcher === undefined) return undefined;
    const link = entryAt(join(this.path, PREFIX + unit));
    return link === 'unknown' ? undefined : link === 'absent';
  }

  #tryToWatch(): void {
    try {
      this.#watcher = watch(this.path, (_, file) => this.#onFileEvent(file));
      this.#watcher.on('error', () => this.#lost());
    } catch {
      // Missing or not accessible: treated as a lost folder, and tried again.
      this.#lost();
      return;
    }
    this.#onChange(undefined);
  }

  #onFileEvent(file: string | null): void {
    if (entryAt(this.path) !== 'there') this.#lost();
    else if (file === null) this.#onChange(undefined);
    else if (file.startsWith(PREFIX)) this.#onChange(file.slice(PREFIX.length));
  }

  #lost(): void {
    this.#letGo();
    if (!this.#open) return;
    this.#cancelRetry?.();
    this.#cancelRetry = this.#clock.after(TRY_AGAIN_MS, () => this.#tryToWatch());
  }

  #letGo(): void {
    this.#watcher?.close();
    this.#watcher = undefined;
  }
}

/** A unit's name may be too long for a link's name: then the state is unknown. */
function entryAt(path: string): 'there' | 'absent' | 'unknown' {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) === undefined ? 'absent' : 'there';
  } catch {
    return 'unknown';
  }
}
