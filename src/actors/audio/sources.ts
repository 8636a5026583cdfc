// Keeps the sound server's sources that are no monitors, as last read. Clients see these sources as inputs.
// Pure.

import type { SourceInfo } from '../../protocol/pulse/records.js';
import { type ChannelParts, rememberChannelParts } from '../../protocol/pulse/volume.js';
import { isAwake } from './device-states.js';
import { absentIndices, findById, type KnownRecord, presentRecords } from './known-records.js';
import { RequestedVolumes } from './requested-volumes.js';

/**
 * At most this many sources are kept. A further source is left out. It is kept after a later reading if there
 * is room then.
 */
export const SOURCES_MAX_RECORDS = 16;

export type KnownSource = KnownRecord<SourceInfo>;

export class Sources {
  readonly #sourceByIndex = new Map<number, KnownSource>();
  /** The indices of the sources for which there was no room. */
  readonly #leftOut = new Set<number>();
  /** The indices of the sources that have been awake in this life of the server, or that cannot be woken. */
  readonly #doneWaking = new Set<number>();
  readonly requestedVolumes = new RequestedVolumes();
  /** Called when a record may differ from what was published. */
  readonly #onChange: () => void;

  constructor(onChange: () => void) {
    this.#onChange = onChange;
  }

  /** In ascending order of their indices. */
  get all(): readonly KnownSource[] {
    return [...this.#sourceByIndex.values()].sort((a, b) => a.info.index - b.info.index);
  }

  get leftOutCount(): number {
    return this.#leftOut.size;
  }

  get(index: number): KnownSource | undefined {
    return this.#sourceByIndex.get(index);
  }

  put(info: SourceInfo): void {
    const { index, monitorOfSink, volume } = info;
    if (monitorOfSink !== undefined) return;
    const atIndex = this.#sourceByIndex.get(index);
    // If the name differs, another source was at this index. Nothing of that source is taken over.
    const before = atIndex?.info.name === info.name ? atIndex : undefined;
    if (before === undefined) {
      this.requestedVolumes.delete(index);
      this.#doneWaking.delete(index);
    }
    if (atIndex === undefined && this.#sourceByIndex.size >= SOURCES_MAX_RECORDS) this.#leftOut.add(index);
    else {
      this.#sourceByIndex.set(index, { info, balance: rememberChannelParts(before?.balance, volume) });
      this.#leftOut.delete(index);
    }
    if (isAwake(info.state)) this.#doneWaking.add(index);
    this.#onChange();
  }

  /** Stores a balance that a command has set, because silent channels do not show it. */
  putBalance(index: number, balance: ChannelParts): void {
    const source = this.#sourceByIndex.get(index);
    if (source !== undefined) this.#sourceByIndex.set(index, { ...source, balance });
  }

  remove(index: number): void {
    this.requestedVolumes.delete(index);
    this.#doneWaking.delete(index);
    const wasLeftOut = this.#leftOut.delete(index);
    const wasKept = this.#sourceByIndex.delete(index);
    if (wasKept || wasLeftOut) this.#onChange();
  }

  /**
   * `removed` has the indices of the sources that were removed while `list` was read. These sources are not
   * put back.
   */
  replace(list: readonly SourceInfo[], removed: ReadonlySet<number>): void {
    const present = presentRecords(list, removed);
    for (const index of absentIndices(this.#sourceByIndex, present)) this.remove(index);
    this.#leftOut.clear();
    for (const info of present) this.put(info);
  }

  /** Finds a source by its id, else by its exact name. */
  find(ref: string): KnownSource | undefined {
    return findById(this.#sourceByIndex, ref) ?? this.all.find(({ info }) => info.name === ref);
  }

  /**
   * True if the source belongs to no card, has not been awake in this life of the server, and has not failed
   * to wake (`giveUpWaking`). PipeWire announces no change of such a source before a command wakes it.
   */
  hasNotBeenAwake(index: number): boolean {
    const source = this.#sourceByIndex.get(index);
    return source !== undefined && source.info.card === undefined && !this.#doneWaking.has(index);
  }

  /** To be called when the source has failed to wake. Otherwise each command would wait for it again. */
  giveUpWaking(index: number): void {
    if (this.#sourceByIndex.has(index)) this.#doneWaking.add(index);
  }

  clear(): void {
    this.#sourceByIndex.clear();
    this.#doneWaking.clear();
    this.requestedVolumes.clear();
    this.#leftOut.clear();
  }
}
