// The cards of the sound server as last read. Pure.

import { RECORDS_MAX } from '../../protocol/pulse/fields.js';
import type { CardInfo } from '../../protocol/pulse/records.js';
import { byId, keepOnly } from './known-records.js';

export class Cards {
  readonly #known = new Map<number, CardInfo>();
  /** Called with a card's index when it has come, gone or been read again. */
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

  /** Replaces all cards by a list, except those in `past`, which were removed after the list was made. */
  replace(list: readonly CardInfo[], past: ReadonlySet<number>): void {
    for (const info of keepOnly(list, past, this.#known, (index) => this.remove(index))) this.put(info);
  }

  nameOf(index: number | undefined): string | undefined {
    const card = index === undefined ? undefined : this.#known.get(index);
    return card && (card.name ?? `card_${card.index}`);
  }

  /** By id, else by exact name. */
  find(ref: string): CardInfo | undefined {
    const named = ({ index }: CardInfo): boolean => this.nameOf(index) === ref;
    return byId(this.#known, ref) ?? [...this.#known.values()].find(named);
  }

  clear(): void {
    this.#known.clear();
  }
}
