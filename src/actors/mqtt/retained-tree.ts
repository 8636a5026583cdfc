// Which retained topics of the broker differ from what they ought to hold, and when each may be published: at most ten times a second, the
// newest winning, the last one always the true one (docs/home-assistant.md, "Topics"). Pure: it is given the time and is asked what is due.

/** A little above a tenth of a second: what the way delays may not make eleven of ten. */
export const PUBLICATION_GAP_MS = 110;

export interface Publication {
  readonly topic: string;
  /** '' removes it. */
  readonly text: string;
}

/** What the broker holds at a topic, '' for nothing, as far as it has said so. */
export type HeldAt = (topic: string) => string;

/** What a topic ought to hold while the broker holds what it does: '' is nothing, undefined means that it is not to be touched now. */
export type Wanted = (topic: string, heldAt: HeldAt) => string | undefined;

/** What may be published of it, or instead of it; undefined is nothing. */
export type Fitted = (publication: Publication) => string | undefined;

export class RetainedTree {
  readonly #wanted: Wanted;
  /** What the broker holds, as far as it has said so. */
  readonly #held = new Map<string, string>();
  readonly #publishedAt = new Map<string, number>();
  readonly #underWay = new Map<string, string>();
  readonly #touched = new Set<string>();

  constructor(wanted: Wanted) {
    this.#wanted = wanted;
  }

  /** A new connection: what the broker holds was read, and what was under way has come to nothing. */
  begin(held: ReadonlyMap<string, string>): void {
    this.#held.clear();
    this.#underWay.clear();
    this.#touched.clear();
    for (const [topic, text] of held) {
      this.#held.set(topic, text);
      this.touch(topic);
    }
  }

  /** Something about it may be different now. */
  touch(topic: string): void {
    this.#touched.add(topic);
  }

  /** As `touch`, each that holds something. */
  touchHeld(): void {
    for (const topic of this.#held.keys()) this.touch(topic);
  }

  /** It was published, by us or by others, and this is what the broker holds now, whatever is acknowledged later. */
  published(topic: string, text: string): void {
    this.#underWay.delete(topic);
    this.#held.set(topic, text);
    this.touch(topic);
  }

  readonly heldAt: HeldAt = (topic) => this.#held.get(topic) ?? '';

  /** It is published once more, though the broker holds it, and though it may be under way just now. */
  again(topic: string): void {
    this.published(topic, '');
  }

  /** Something to publish now; it is under way until it is acknowledged. `nowMs` is monotonic. */
  next(nowMs: number, fitted: Fitted): Publication | undefined {
    for (const topic of this.#touched) {
      if (this.#underWay.has(topic) || this.#dueAt(topic) > nowMs) continue;
      this.#touched.delete(topic);
      const wanted = this.#wanted(topic, this.heldAt);
      const text = wanted === undefined ? undefined : fitted({ topic, text: wanted });
      if (text === undefined || text === this.heldAt(topic)) continue;
      this.#underWay.set(topic, text);
      this.#publishedAt.set(topic, nowMs);
      return { topic, text };
    }
    return undefined;
  }

  /** When something more falls due, of all that is not under way. Undefined: nothing will by itself. */
  dueAt(): number | undefined {
    const waiting = [...this.#touched].filter((topic) => !this.#underWay.has(topic));
    return waiting.length === 0 ? undefined : Math.min(...waiting.map((topic) => this.#dueAt(topic)));
  }

  /** The broker has it. What has changed meanwhile follows, and what is told in two steps goes on. */
  acknowledged(topic: string): void {
    const text = this.#underWay.get(topic);
    if (text === undefined) return;
    this.#underWay.delete(topic);
    if (text === '') this.#held.delete(topic);
    else this.#held.set(topic, text);
    this.touch(topic);
  }

  /** Forgets what is of no use any more: topics that come and go leave nothing behind. */
  tidy(nowMs: number): void {
    for (const [topic, at] of this.#publishedAt) {
      if (at + PUBLICATION_GAP_MS <= nowMs) this.#publishedAt.delete(topic);
    }
  }

  #dueAt(topic: string): number {
    const at = this.#publishedAt.get(topic);
    return at === undefined ? Number.NEGATIVE_INFINITY : at + PUBLICATION_GAP_MS;
  }
}
