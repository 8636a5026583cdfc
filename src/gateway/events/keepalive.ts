// One timer for the keep-alives of all streams: a node at rest should sleep, so there is no timer per stream, and none at
// all without streams.

import type { Clock } from '../../clock.js';

/** Keep-alives that fall due within this time after each other share one wake-up, and stay together from then on. */
const SLACK_MS = 250;

/** What can fall silent. Its due time only ever moves later. */
export interface Talker {
  readonly dueAt: number;
  keepAlive(): void;
}

export class KeepAlive {
  readonly #talkers: ReadonlySet<Talker>;
  readonly #clock: Clock;
  #armed: { readonly at: number; readonly cancel: () => void } | undefined;

  constructor(talkers: ReadonlySet<Talker>, clock: Clock) {
    this.#talkers = talkers;
    this.#clock = clock;
  }

  /** `talker` was added to the set. */
  added(talker: Talker): void {
    const at = talker.dueAt + SLACK_MS;
    if (this.#armed === undefined || at < this.#armed.at) this.#arm(at);
  }

  /** A talker was taken from the set. The timer may be too early then, which costs one wake-up, unless none is left. */
  removed(): void {
    if (this.#talkers.size === 0) this.stop();
  }

  stop(): void {
    this.#armed?.cancel();
    this.#armed = undefined;
  }

  #arm(at: number): void {
    this.#armed?.cancel();
    const delayMs = Math.max(0, at - this.#clock.monotonic());
    this.#armed = { at, cancel: this.#clock.after(delayMs, () => this.#fire()) };
  }

  #fire(): void {
    this.#armed = undefined;
    const now = this.#clock.monotonic();
    for (const talker of this.#talkers) if (talker.dueAt <= now) talker.keepAlive();
    let next = Number.POSITIVE_INFINITY;
    for (const talker of this.#talkers) next = Math.min(next, talker.dueAt);
    if (next < Number.POSITIVE_INFINITY) this.#arm(next + SLACK_MS);
  }
}
