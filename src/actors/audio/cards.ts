// Keeps what was last read of the sound server's cards. Pure.

import { RECORDS_MAX } from '../../protocol/pulse/fields.js';
import type { CardInfo } from '../../protocol/pulse/records.js';
import { absentIndices, findById, presentRecords } from './known-records.js';

export class Cards {
  readonly #cards = new Map<number, CardInfo>();
  /** Called with the index of a card that has come, gone or been read again. `clear` does not call it. */
  readonly #onChange: (card: number) => void;

  constructor(onChange: (card: number) => void) {
    this.#onChange = onChange;
  }

  get size(): number {
    return this.#cards.size;
  }

  get(index: number): CardInfo | undefined {
    return this.#cards.get(index);
  }

  put(info: CardInfo): void {
    if (!this.#cards.has(info.index) && this.#cards.size >= RECORDS_MAX) return;
    this.#cards.set(info.index, info);
    this.#onChange(info.index);
  }

  remove(index: number): void {
    if (this.#cards.delete(index)) this.#onChange(index);
  }

  /**
   * Replaces all cards by the list of a reply. The indices in `removed` are left out, because these cards
   * were removed while the list was read.
   */
  replace(list: readonly CardInfo[], removed: ReadonlySet<number>): void {
    const present = presentRecords(list, removed);
    for (const index of absentIndices(this.#cards, present)) this.remove(index);
    for (const info of present) this.put(info);
  }

  /** Undefined for an unknown card, and if `index` is undefined. */
  nameOf(index: number | undefined): string | undefined {
    const card = index === undefined ? undefined : this.#cards.get(index);
    if (card === undefined) return undefined;
    return card.name ?? `card_${card.index}`;
  }

  /** Finds a card by its id, else by its exact name. */
  find(ref: string): CardInfo | undefined {
    const cards = [...this.#cards.values()];
    return findById(this.#cards, ref) ?? cards.find(({ index }) => this.nameOf(index) === ref);
  }

  clear(): void {
    this.#cards.clear();
  }
}
