// Keeps the sources of the sound server as last read, without monitors. Clients see these sources as inputs,
// whose records are made in input-record.ts. Pure.

import type { SourceInfo } from '../../protocol/pulse/records.js';
import { type Balance, rememberBalance } from '../../protocol/pulse/volume.js';
import { isAwake } from './device-states.js';
import { findById, type KnownRecord, removeUnlisted } from './known-records.js';

/**
 * At most this many sources are kept. A further one is left out until it is read again after another one has
 * gone.
 */
export const SOURCES_MAX_RECORDS = 16;

export type KnownSource = KnownRecord<SourceInfo>;

export class Sources {
  readonly #known = new Map<number, KnownSource>();
  readonly #leftOut = new Set<number>();
  /**
   * Sources that no command needs to wake: they have been awake in this life of the server, or cannot be
   * woken.
   */
  readonly #awake = new Set<number>();
  /** Called when a record may differ from what was published. */
  readonly #onChange: () => void;

  constructor(onChange: () => void) {
    this.#onChange = onChange;
  }

  /** In ascending order of their indices. */
  get all(): readonly KnownSource[] {
    return [...this.#known.values()].sort((a, b) => a.info.index - b.info.index);
  }

  /** How many sources there are above SOURCES_MAX_RECORDS. */
  get leftOutCount(): number {
    return this.#leftOut.size;
  }

  byId(index: number): KnownSource | undefined {
    return this.#known.get(index);
  }

  put(info: SourceInfo): void {
    const { index, monitorOfSink, volume } = info;
    if (monitorOfSink !== undefined) return;
    const atIndex = this.#known.get(index);
    // If another source was at this index, its removal was missed. The new source inherits nothing from it.
    const before = atIndex?.info.name === info.name ? atIndex : undefined;
    if (atIndex === undefined && this.#known.size >= SOURCES_MAX_RECORDS) this.#leftOut.add(index);
    else {
      this.#known.set(index, { info, balance: rememberBalance(before?.balance, volume) });
      this.#leftOut.delete(index);
    }
    if (isAwake(info.state)) this.#awake.add(index);
    this.#onChange();
  }

  /** Stores a balance as it was set, because silent channels do not show it. */
  putBalance(index: number, balance: Balance): void {
    const source = this.#known.get(index);
    if (source !== undefined) this.#known.set(index, { ...source, balance });
  }

  remove(index: number): void {
    this.#awake.delete(index);
    const wasLeftOut = this.#leftOut.delete(index);
    if (this.#known.delete(index) || wasLeftOut) this.#onChange();
  }

  /**
   * Replaces all sources by the list of a reply. `removed` has the indices that were removed while the list
   * was read: they are left out.
   */
  replace(list: readonly SourceInfo[], removed: ReadonlySet<number>): void {
    const present = removeUnlisted(list, removed, this.#known, (index) => this.remove(index));
    this.#leftOut.clear();
    for (const info of present) this.put(info);
  }

  /** By id, else by exact name. */
  find(ref: string): KnownSource | undefined {
    return findById(this.#known, ref) ?? this.all.find(({ info }) => info.name === ref);
  }

  /** True for a source without a card if it has never been awake and no attempt to wake it has failed. */
  mayWake(index: number): boolean {
    const source = this.#known.get(index);
    return source !== undefined && source.info.card === undefined && !this.#awake.has(index);
  }

  /**
   * Keeps commands from waking the source again after a failure, because each further attempt would take as
   * long.
   */
  letSleep(index: number): void {
    if (this.#known.has(index)) this.#awake.add(index);
  }

  clear(): void {
    this.#known.clear();
    this.#awake.clear();
    this.#leftOut.clear();
  }
}
