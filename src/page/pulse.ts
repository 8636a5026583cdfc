// Decides when the page asks whether the node still answers, and for which reason the node is away. A pulled
// cable causes no event, and the stream detects silence only after 15 s. So the page sends requests: often
// while somebody uses it and no event arrives, and once a second while the connection is lost. All deadlines
// grow with the time that answers take.

import type { NodeState } from '../client/client.js';
import { withDeadline } from '../client/deadline.js';

/**
 * `watched`: somebody uses the page. `resting`: it is hidden, or had no input for a while, so no requests are
 * sent, and the stream detects silence. `lost`: the connection is lost.
 */
export type Attention = 'watched' | 'resting' | 'lost';

export interface PulseOptions {
  /** One request; rejects, or does not settle, if there is no answer. */
  readonly request: (signal: AbortSignal) => Promise<unknown>;
  readonly attention: () => Attention;
  /** Called when the node stops answering, and when it answers again. */
  readonly onChange: (isAnswering: boolean) => void;
  /** Called when the node answers again while the connection is lost. */
  readonly onReturn: () => void;
}

const TICK_MS = 100;
/** A request is sent when nothing has arrived for this long. */
const SILENCE_MS = 350;
/**
 * The node does not answer if no answer has come for this long, plus twice the time that answers take. In a
 * local network the page thus shows the loss within a second of the last sign of life.
 */
const ANSWER_MS = 430;
/**
 * The time between two requests while the connection is lost. The time-out of such a request is this time,
 * plus twice the time that answers take.
 */
const RETURN_MS = 1000;
/**
 * The time that answers are expected to take before the first has come. It is too long for most nodes, but
 * it prevents a false alarm for a node that is far away.
 */
const FIRST_LATENCY_MS = 1000;
/** Longer times count as this one, because the page is of no use with them. */
const LATENCY_MS_MAX = 4000;
/** The page is in use for this long after its last input. */
export const IN_USE_MS = 60_000;

/** Knows how long ago the page had its last input. The loading of the page counts as input. */
export class InputWatch {
  #lastAt = performance.now();

  constructor(page: EventTarget) {
    const note = (): void => {
      this.#lastAt = performance.now();
    };
    for (const kind of ['pointerdown', 'pointermove', 'keydown', 'wheel', 'visibilitychange'])
      page.addEventListener(kind, note, { capture: true, passive: true });
  }

  get idleMs(): number {
    return performance.now() - this.#lastAt;
  }
}

/**
 * Estimates the time that an answer takes. A slower answer is the new estimate at once. Each faster answer
 * lowers the estimate by half at most.
 */
class Latency {
  estimateMs = FIRST_LATENCY_MS;
  /**
   * The estimate for deadlines. Each late answer doubles it, because answers may take longer than ever now.
   */
  deadlineMs = FIRST_LATENCY_MS;
  #isKnown = false;

  noteAnswer(ms: number): void {
    const before = this.#isKnown ? this.estimateMs : 0;
    this.estimateMs = Math.min(LATENCY_MS_MAX, Math.max(ms, before / 2));
    this.deadlineMs = this.estimateMs;
    this.#isKnown = true;
  }

  noteLate(): void {
    this.deadlineMs = Math.min(LATENCY_MS_MAX, Math.max(ANSWER_MS, this.deadlineMs * 2));
  }
}

/** Sends the requests, from `startWatching` on, as long as the page lives. */
export class Pulse {
  readonly #options: PulseOptions;
  readonly #latency = new Latency();
  #isAnswering = true;
  #aliveAt = performance.now();
  #requestedAt = Number.NEGATIVE_INFINITY;
  /**
   * The time of the first request since the last sign of life, while none is answered. Silence alone does not
   * count, because the browser may have suspended this page.
   */
  #unansweredSince: number | undefined;
  /** True if the last request was answered while the connection was lost. */
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
    this.#setAnswering(true);
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
    const { deadlineMs } = this.#latency;
    const answerMs = ANSWER_MS + 2 * deadlineMs;
    if (this.#unansweredSince !== undefined && now - this.#unansweredSince >= answerMs)
      this.#setAnswering(false);
    const isSilent = now - this.#aliveAt >= SILENCE_MS;
    const isRequestRecent = now - this.#requestedAt < SILENCE_MS + deadlineMs;
    if (!isSilent || isRequestRecent) return;
    this.#unansweredSince ??= now;
    void this.#request(now, 2 * answerMs).then((isAnswered) => {
      if (isAnswered) this.noteAlive();
      else if (performance.now() - now >= 2 * answerMs) this.#latency.noteLate();
    });
  }

  async #awaitReturn(now: number): Promise<void> {
    if (this.#isAwaitingReturn || now - this.#requestedAt < RETURN_MS) return;
    this.#isAwaitingReturn = true;
    const isAnswered = await this.#request(now, RETURN_MS + 2 * this.#latency.estimateMs);
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
    this.#latency.noteAnswer(performance.now() - now);
    return true;
  }

  #setAnswering(isAnswering: boolean): void {
    if (isAnswering !== this.#isAnswering) this.#options.onChange(isAnswering);
    this.#isAnswering = isAnswering;
  }
}

/** `reboot` and `poweroff` as in `power.action`; `restart` is a restart of the service. */
export type AbsenceReason = 'reboot' | 'poweroff' | 'upgrade' | 'restart';

export interface AnnouncedAbsence {
  readonly reason: AbsenceReason;
  /** Milliseconds since the epoch. */
  readonly at: number;
}

/** How long each reason explains an absence. */
const REASON_MS: Readonly<Record<AbsenceReason, number>> = {
  restart: 60_000,
  reboot: 5 * 60_000,
  upgrade: 30 * 60_000,
  poweroff: Number.POSITIVE_INFINITY,
};

/**
 * The reason why the node is away; undefined if no reason is known, or if the node is away for longer than
 * its reason explains. `lostSince` and `now` are milliseconds since the epoch.
 */
export function absenceReason(
  absence: AnnouncedAbsence | undefined,
  upgrade: NodeState['upgrade'],
  lostSince: number,
  now: number,
): AbsenceReason | undefined {
  const explains = (reason: AbsenceReason, since: number): boolean => now - since < REASON_MS[reason];
  const announced = absence && explains(absence.reason, absence.at) ? absence.reason : undefined;
  if (announced !== undefined && announced !== 'restart') return announced;
  // An upgrade may restart the service or the node, and no event announces this.
  const isUpgrading = upgrade?.run?.state === 'running' && explains('upgrade', lostSince);
  return isUpgrading ? 'upgrade' : announced;
}
