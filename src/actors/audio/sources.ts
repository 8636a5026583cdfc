// The inputs of the sound server as last read: its sources that are no monitors. Pure. It does not make their
// records (input-record.ts).

import type { SourceInfo } from '../../protocol/pulse/records.js';
import { type Balance, rememberBalance } from '../../protocol/pulse/volume.js';
import { byId, type KnownRecord, keepOnly } from './known-records.js';

/** Inputs that are known; others are left out until one of these goes. */
export const SOURCES_MAX_RECORDS = 16;

/** `SourceInfo.state` of a source that is awake: running or idle. */
const AWAKE: readonly (number | undefined)[] = [0, 1];

export type KnownSource = KnownRecord<SourceInfo>;

export class Sources {
  readonly #known = new Map<number, KnownSource>();
  readonly #leftOut = new Set<number>();
  /** Sources that have been awake in this life of the server, and those that could not be woken. */
  readonly #awake = new Set<number>();
  /** Called when a record may differ from what was published. */
  readonly #onChange: () => void;

  constructor(onChange: () => void) {
    this.#onChange = onChange;
  }

  /** By id, in ascending order. */
  get all(): readonly KnownSource[] {
    return [...this.#known.values()].sort((a, b) => a.info.index - b.info.index);
  }

  /** How many inputs there are above SOURCES_MAX_RECORDS. */
  get leftOut(): number {
    return this.#leftOut.size;
  }

  byId(index: number): KnownSource | undefined {
    return this.#known.get(index);
  }

  put(info: SourceInfo): void {
    const { index, monitorOfSink, volume } = info;
    if (monitorOfSink !== undefined) return;
    // An index may have come to belong to another source whose predecessor's removal was missed.
    const known = this.#known.get(index);
    const before = known?.info.name === info.name ? known : undefined;
    if (known === undefined && this.#known.size >= SOURCES_MAX_RECORDS) this.#leftOut.add(index);
    else this.#known.set(index, { info, balance: rememberBalance(before?.balance, volume) });
    if (AWAKE.includes(info.state)) this.#awake.add(index);
    this.#onChange();
  }

  /** Stores a balance as it was set, because silent channels do not show it. */
  putBalance(index: number, balance: Balance): void {
    const known = this.#known.get(index);
    if (known !== undefined) this.#known.set(index, { ...known, balance });
  }

  remove(index: number): void {
    this.#awake.delete(index);
    const wasLeftOut = this.#leftOut.delete(index);
    if (this.#known.delete(index) || wasLeftOut) this.#onChange();
  }

  /**
   * Replaces all inputs by a list, except those in `past`, which were removed after the list was made.
   */
  replace(list: readonly SourceInfo[], past: ReadonlySet<number>): void {
    const live = keepOnly(list, past, this.#known, (index) => this.remove(index));
    this.#leftOut.clear();
    for (const info of live) this.put(info);
  }

  /** By id, else by exact name. */
  find(ref: string): KnownSource | undefined {
    return byId(this.#known, ref) ?? this.all.find(({ info }) => info.name === ref);
  }

  /** The index of a virtual source that has not been awake, and may be woken; undefined for others. */
  asleep(index: number): number | undefined {
    const isVirtual = this.#known.get(index)?.info.card === undefined;
    return this.#known.has(index) && isVirtual && !this.#awake.has(index) ? index : undefined;
  }

  /** Records that the source could not be woken: each further attempt would take as long. */
  letSleep(index: number): void {
    if (this.#known.has(index)) this.#awake.add(index);
  }

  clear(): void {
    this.#known.clear();
    this.#awake.clear();
    this.#leftOut.clear();
  }
}
