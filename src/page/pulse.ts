// Decides whether the node is there, and whether its absence is explained. A pulled cable causes no event,
// and the stream detects silence only after 15 s. So the page sends requests: often while it is in use and
// nothing else arrives; while the connection is lost, to find out whether the node is back. All deadlines
// grow with the time that answers take on the way.

import type { NodeState } from '../client/client.js';
import { withDeadline } from '../client/deadline.js';

/** `resting`: the page is hidden or without input for a while; the stream's own keep-alive must do. */
export type Attention = 'watched' | 'resting' | 'lost';

export interface PulseOptions {
  /** One request; rejects, or does not settle, if there is no answer. */
  readonly request: (signal: AbortSignal) => Promise<unknown>;
  readonly attention: () => Attention;
  readonly onChange: (isBeating: boolean) => void;
  /** Called when the node answers again while the connection is lost. */
  readonly onReturn: () => void;
}

const TICK_MS = 100;
/** A request is sent after this much silence. */
const SILENCE_MS = 350;
/**
 * Without an answer for this long, and twice the time of the way, the node has stopped: near by, within a
 * second of its last sign of life.
 */
const ANSWER_MS = 430;
/**
 * Between two requests while the connection is lost, and the time-out of each, to which twice the time of the
 * way is added.
 */
const RETURN_MS = 1000;
/** Assumed until the first answer: wrong for most nodes, but no false alarm far away from one. */
const FIRST_WAY_MS = 1000;
/** Beyond this time of the way the page is of no use. */
const WAY_MS_MAX = 4000;
/** Without input for this long the page is not in use. */
export const HAND_MS = 60_000;

/** The time since somebody has used the page; its loading counts as use. */
export class Hands {
  #lastAt = performance.now();

  constructor(page: EventTarget) {
    const note = (): void => {
      this.#lastAt = performance.now();
    };
    for (const sign of ['pointerdown', 'pointermove', 'keydown', 'wheel', 'visibilitychange'])
      page.addEventListener(sign, note, { capture: true, passive: true });
  }

  get idleMs(): number {
    return performance.now() - this.#lastAt;
  }
}

/** The time that an answer takes. One that takes longer counts at once; faster ones halve the estimate. */
class Way {
  answeredMs = FIRST_WAY_MS;
  /** Grows while answers are late, as the way may have become longer than the deadline allows. */
  patientMs = FIRST_WAY_MS;
  #isKnown = false;

  noteAnswer(ms: number): void {
    const before = this.#isKnown ? this.answeredMs : 0;
    this.answeredMs = Math.min(WAY_MS_MAX, Math.max(ms, before / 2));
    this.patientMs = this.answeredMs;
    this.#isKnown = true;
  }

  noteLate(): void {
    this.patientMs = Math.min(WAY_MS_MAX, Math.max(ANSWER_MS, this.patientMs * 2));
  }
}

/** Begins with `startWatching`, and runs as long as the page lives. */
export class Pulse {
  readonly #options: PulseOptions;
  readonly #way = new Way();
  #isBeating = true;
  #aliveAt = performance.now();
  #requestedAt = Number.NEGATIVE_INFINITY;
  /**
   * First unanswered request since the last sign of life. Silence alone does not count: the page itself may
   * have been suspended.
   */
  #unansweredSince: number | undefined;
  /** While the connection is lost: true if the last request was answered. */
  #isBack = false;
  #isAwaitingReturn = false;

  constructor(options: PulseOptions) {
    this.#options = options;
  }

  startWatching(): void {
    setInterval(() => this.#tick(performance.now()), TICK_MS);
  }

  /** Call this at each sign of life of the node. */
  noteAlive(): void {
    this.#aliveAt = performance.now();
    this.#unansweredSince = undefined;
    this.#setBeating(true);
  }

  #tick(now: number): void {
    const attention = this.#options.attention();
    if (attention === 'watched') {
      this.#watch(now);
      return;
    }
    this.#aliveAt = now;
    this.#unansweredSince = undefined;
    if (attention === 'lost') void this.#awaitReturn(now);
  }

  #watch(now: number): void {
    this.#isBack = false;
    const answerMs = ANSWER_MS + 2 * this.#way.patientMs;
    if (this.#unansweredSince !== undefined && now - this.#unansweredSince >= answerMs)
      this.#setBeating(false);
    const isSilent = now - this.#aliveAt >= SILENCE_MS;
    if (!isSilent || now - this.#requestedAt < SILENCE_MS + this.#way.patientMs) return;
    this.#unansweredSince ??= now;
    void this.#request(now, 2 * answerMs).then((isAnswered) => {
      if (isAnswered) this.noteAlive();
      else if (performance.now() - now >= 2 * answerMs) this.#way.noteLate();
    });
  }

  async #awaitReturn(now: number): Promise<void> {
    if (this.#isAwaitingReturn || now - this.#requestedAt < RETURN_MS) return;
    this.#isAwaitingReturn = true;
    const isAnswered = await this.#request(now, RETURN_MS + 2 * this.#way.answeredMs);
    this.#isAwaitingReturn = false;
    if (isAnswered && !this.#isBack && this.#options.attention() === 'lost') this.#options.onReturn();
    this.#isBack = isAnswered;
  }

  /** Resolves with true if there was an answer in time. */
  async #request(now: number, deadlineMs: number): Promise<boolean> {
    this.#requestedAt = now;
    try {
      await withDeadline(deadlineMs, this.#options.request);
    } catch {
      return false;
    }
    this.#way.noteAnswer(performance.now() - now);
    return true;
  }

  #setBeating(isBeating: boolean): void {
    if (isBeating !== this.#isBeating) this.#options.onChange(isBeating);
    this.#isBeating = isBeating;
  }
}

/** `reboot` and `poweroff` as in `power.action`; `restart` is a restart of the service. */
export type AbsenceReason = 'reboot' | 'poweroff' | 'upgrade' | 'restart';

export interface AnnouncedAbsence {
  readonly reason: AbsenceReason;
  /** Milliseconds since the epoch. */
  readonly at: number;
}

/** After this time the reason no longer explains the absence. */
const PATIENCE_MS: Readonly<Record<AbsenceReason, number>> = {
  restart: 60_000,
  reboot: 5 * 60_000,
  upgrade: 30 * 60_000,
  poweroff: Number.POSITIVE_INFINITY,
};

/**
 * Undefined if nobody has asked for it, or it takes too long. `lostSince` and `now` are milliseconds since
 * the epoch.
 */
export function absenceReason(
  absence: AnnouncedAbsence | undefined,
  upgrade: NodeState['upgrade'],
  lostSince: number,
  now: number,
): AbsenceReason | undefined {
  const lasts = (reason: AbsenceReason, since: number): boolean => now - since < PATIENCE_MS[reason];
  const announced = absence && lasts(absence.reason, absence.at) ? absence.reason : undefined;
  if (announced !== undefined && announced !== 'restart') return announced;
  // An upgrade may restart the service or the node without an event.
  return upgrade?.run?.state === 'running' && lasts('upgrade', lostSince) ? 'upgrade' : announced;
}
