// Which rows of the streams are drawn when, and which have controls.

import type { ClientRecord } from '../client/client.js';
import type { Turns } from './turns.js';

/** Of those that have changed; the others follow within a few frames. */
const CHANGES_AT_ONCE = 4;
/** How far from the screen a row gets its controls: a screen's height, and so many rows, which is what Tab needs within a frame. */
const NEAR = '100% 0px';
const NEAR_ROWS = 3;

/**
 * What the rows show, of which a changed one is drawn alone: to compare 150 takes longer than to draw one. A row that has never been
 * near the screen is only a name: its controls would be most of the work of a page with 150 streams, also for Chromium's autofill,
 * which measures each `select`.
 */
export class Rows {
  #streams: ReadonlyMap<number, ClientRecord> = new Map();
  readonly #turns: Turns;
  readonly #draw = new Map<number, () => void>();
  /** Those that have controls. */
  readonly #full = new Set<number>();
  /** Those that are near the screen now: drawn before the others. */
  readonly #near = new Set<number>();
  /** What is shown of them is not what is known. */
  readonly #stale = new Set<number>();
  readonly #screen = new IntersectionObserver(
    (rows) => {
      for (const { target, isIntersecting } of rows) {
        if (!(target instanceof HTMLElement)) continue;
        const id = Number(target.dataset['stream']);
        if (isIntersecting) this.#approach(id);
        else this.#near.delete(id);
      }
    },
    { rootMargin: NEAR },
  );

  constructor(turns: Turns) {
    this.#turns = turns;
  }

  put(streams: ReadonlyMap<number, ClientRecord>): void {
    const before = this.#streams;
    this.#streams = streams;
    for (const id of this.#full) if (!streams.has(id)) this.#full.delete(id);
    const changed = [...streams.values()].filter((stream) => {
      const known = before.get(stream.id);
      // One that is new is drawn with its list.
      if (known === undefined || known === stream) return false;
      return this.#full.has(stream.id) || known.name !== stream.name;
    });
    for (const { id } of changed) this.#stale.add(id);
    for (let count = Math.min(changed.length, CHANGES_AT_ONCE); count > 0; count -= 1) this.#drawNext();
    if (this.#stale.size > 0) this.#turns.later(this.#catchUp);
  }

  of(id: number): ClientRecord | undefined {
    return this.#streams.get(id);
  }

  hasControls(id: number): boolean {
    return this.#full.has(id);
  }

  /** Answers with how to end it. */
  watch(id: number, row: HTMLElement, draw: () => void): () => void {
    this.#draw.set(id, draw);
    this.#screen.observe(row);
    return () => {
      this.#screen.unobserve(row);
      for (const ids of [this.#draw, this.#near, this.#stale]) ids.delete(id);
    };
  }

  #drawNext(): void {
    const stale = [...this.#stale];
    const id = stale.find((each) => this.#near.has(each)) ?? stale[0];
    if (id === undefined) return;
    this.#stale.delete(id);
    this.#draw.get(id)?.();
  }

  readonly #catchUp = (): void => {
    this.#drawNext();
    if (this.#stale.size > 0) this.#turns.later(this.#catchUp);
  };

  #approach(id: number): void {
    this.#near.add(id);
    const ids = [...this.#streams.keys()];
    const at = ids.indexOf(id);
    for (const each of ids.slice(Math.max(0, at - NEAR_ROWS), at + NEAR_ROWS + 1)) {
      if (this.#full.has(each) || !this.#draw.has(each)) continue;
      this.#full.add(each);
      this.#stale.add(each);
    }
    if (this.#stale.size > 0) this.#turns.later(this.#catchUp);
  }
}
