// How long a unit's changes are gathered before they are told: briefly at first, longer while it changes again and again,
// so that a crash loop costs an event every two seconds and not fifty. Pure.

/** 200 changes in 100 ms then cost two or three events. */
const SHORTEST_WINDOW_MS = 50;
const LONGEST_WINDOW_MS = 2_000;
/** A start and a stop with the states between them, which someone may be watching. */
const FREE_EVENTS = 4;
/** So long after the last event a unit counts as calm again. */
const CALM_AFTER_MS = 2_000;

interface Tempo {
  readonly windowMs: number;
  readonly toldAt: number;
  /** Events since the unit was last calm. */
  readonly events: number;
}

export class EventPace {
  /** Bounded by the whitelist. */
  readonly #tempos = new Map<string, Tempo>();

  /** How long to gather from now on, the first change of this window. */
  windowMs(key: string, now: number): number {
    const tempo = this.#restless(key, now);
    if (tempo === undefined || tempo.events < FREE_EVENTS) return SHORTEST_WINDOW_MS;
    return Math.min(tempo.windowMs * 2, LONGEST_WINDOW_MS);
  }

  /** An event has left, gathered over `windowMs`. */
  told(key: string, windowMs: number, now: number): void {
    const events = (this.#restless(key, now)?.events ?? 0) + 1;
    this.#tempos.set(key, { windowMs, toldAt: now, events });
  }

  #restless(key: string, now: number): Tempo | undefined {
    const tempo = this.#tempos.get(key);
    return tempo === undefined || now - tempo.toldAt > CALM_AFTER_MS + tempo.windowMs ? undefined : tempo;
  }
}
