// Keeps the cards of the sound server as last read. Pure.

import { RECORDS_MAX } from '../../protocol/pulse/fields.js';
import type { CardInfo } from '../../protocol/pulse/records.js';
import { byId, removeUnlisted } from './known-records.js';

export class Cards {
  readonly #known = new Map<number, CardInfo>();
  /** Called with the index of a card that has come, gone or been read again. */
  readonly #onChange: (card: number) => void;

  constructor(onChange: (card: number) => void) {
    this.#onChange = onChange;
  }

  get size(): number {
    return this.#known.size;
  }

  get(index: number): CardInfo | undefined {
    return this.#known.get(index);
  }

  put(info: CardInfo): void {
    if (!this.#known.has(info.index) && this.#known.size >= RECORDS_MAX) return;
    this.#known.set(info.index, info);
    this.#onChange(info.index);
  }

  remove(index: number): void {
    if (this.#known.delete(index)) this.#onChange(index);
  }

  /**
   * Replaces all cards by the list of a reply. `removed` has the indices that were removed while the list was
   * read: they are left out.
   */
  replace(list: readonly CardInfo[], removed: ReadonlySet<number>): void {
    const present = removeUnlisted(list, removed, this.#known, (index) => this.remove(index));
    for (const info of present) this.put(info);
  }

  /** Undefined for a card that is not known. */
  nameOf(index: number | undefined): string | undefined {
    const card = index === undefined ? undefined : this.#known.get(index);
    if (card === undefined) return undefined;
    return card.name ?? `card_${card.index}`;
  }

  /** By id, else by exact name. */
  find(ref: string): CardInfo | undefined {
    const all = [...this.#known.values()];
    return byId(this.#known, ref) ?? all.find(({ index }) => this.nameOf(index) === ref);
  }

  clear(): void {
    this.#known.clear();
  }
}
