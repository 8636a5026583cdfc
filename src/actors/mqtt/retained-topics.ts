// Decides which retained topics differ from their wanted text, and when each may be published: at most ten times a second, the newest text
// wins, and the last one is always the true one (docs/home-assistant.md, "Topics"). Pure: callers pass the time and take what is due.

/** A little above a tenth of a second, so that network delays cannot make eleven in a second. */
export const PUBLICATION_GAP_MS = 110;

export interface Publication {
  readonly topic: string;
  /** '' removes the topic. */
  readonly text: string;
}

/** The broker's text at a topic, '' for none, as far as confirmed. */
export type HeldAt = (topic: string) => string;

/** The wanted text of a topic, given the broker's state: '' means none, undefined that it must not be changed now. */
export type WantedText = (topic: string, heldAt: HeldAt) => string | undefined;

/** The text to publish instead, if it must be changed to fit; undefined to publish nothing. */
export type FitText = (publication: Publication) => string | undefined;

export class RetainedTopics {
  readonly #wanted: WantedText;
  /** The broker's texts, as far as confirmed. */
  readonly #held = new Map<string, string>();
  readonly #publishedAt = new Map<string, number>();
  readonly #underWay = new Map<string, string>();
  readonly #touched = new Set<string>();

  constructor(wanted: WantedText) {
    this.#wanted = wanted;
  }

  /** Begins a new connection with the retained texts that were read; publications in flight are lost. */
  begin(held: ReadonlyMap<string, string>): void {
    this.#held.clear();
    this.#underWay.clear();
    this.#touched.clear();
    for (const [topic, text] of held) {
      this.#held.set(topic, text);
      this.touch(topic);
    }
  }

  /** Has the topic checked: its wanted text may have changed. */
  touch(topic: string): void {
    this.#touched.add(topic);
  }

  /** Like `touch`, for each topic with a text. */
  touchHeld(): void {
    for (const topic of this.#held.keys()) this.touch(topic);
  }

  /** We or others published this text, so it is the broker's now, whatever is acknowledged later. */
  published(topic: string, text: string): void {
    this.#underWay.delete(topic);
    this.#held.set(topic, text);
    this.touch(topic);
  }

  readonly heldAt: HeldAt = (topic) => this.#held.get(topic) ?? '';

  /** Publishes the topic once more, even if the broker holds its text or it is in flight. */
  again(topic: string): void {
    this.published(topic, '');
  }

  /** The next publication; it is in flight until it is acknowledged. `nowMs` is monotonic. */
  next(nowMs: number, fitted: FitText): Publication | undefined {
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

  /** The time of the next publication, ignoring topics in flight; undefined if nothing is due by time alone. */
  dueAt(): number | undefined {
    const waiting = [...this.#touched].filter((topic) => !this.#underWay.has(topic));
    return waiting.length === 0 ? undefined : Math.min(...waiting.map((topic) => this.#dueAt(topic)));
  }

  /** The broker has stored the text. The topic is checked again for newer texts and second steps. */
  acknowledged(topic: string): void {
    const text = this.#underWay.get(topic);
    if (text === undefined) return;
    this.#underWay.delete(topic);
    if (text === '') this.#held.delete(topic);
    else this.#held.set(topic, text);
    this.touch(topic);
  }

  /** Forgets old publication times, so that topics that come and go leave nothing behind. */
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
