// Decides whether the node still answers the page's requests, and why the node is away.

import type { NodeState } from '../client/client.js';
import { withDeadline } from '../client/deadline.js';

/**
 * `watched`: the page is connected, and somebody uses it. `resting`: the page sends no requests, because it
 * is hidden, unused for a while, or not connected yet. `lost`: the page is visible, and its connection is
 * lost.
 */
export type Situation = 'watched' | 'resting' | 'lost';

export interface LivenessOptions {
  /** Sends one request. The promise rejects if the request fails, or when `signal` aborts. */
  readonly request: (signal: AbortSignal) => Promise<unknown>;
  readonly situation: () => Situation;
  /** Called when the node stops answering, and when it answers again. */
  readonly onChange: (isAnswering: boolean) => void;
  /** Called when the node answers again while the connection is lost. */
  readonly onReturn: () => void;
}

const TICK_MS = 100;
/** A request is sent when nothing has arrived for this long. */
const SILENCE_MS = 350;
/**
 * A node that does not answer for this time, plus twice the latency, is considered away. In a local network
 * the latency is almost 0. There the page shows the loss within a second of the last sign of life, because
 * `SILENCE_MS`, this time and two ticks are less than a second together. One tick may pass before the page
 * sends the request, and one before it notices the loss.
 */
const ANSWER_MS = 430;
/**
 * The shortest time between the beginnings of two requests while the connection is lost. Only one such
 * request is open at a time. The time-out of the request is this time, plus twice the latency.
 */
const RETURN_MS = 1000;
/**
 * The expected latency before the first answer. It is too long for most nodes, but prevents a false alarm for
 * a distant node.
 */
const FIRST_LATENCY_MS = 1000;
/** The largest estimate of the latency. With a longer latency the page cannot be used anyway. */
const LATENCY_MAX_MS = 4000;
/** The page is in use for this long after its last input. */
export const IN_USE_MS = 60_000;

/**
 * Knows how long ago the page had its last input. The creation of this object counts as input, and so does
 * each change of the page's visibility.
 */
export class InputWatch {
  #lastAt = performance.now();

  constructor(page: EventTarget) {
    const noteInput = (): void => {
      this.#lastAt = performance.now();
    };
    for (const kind of ['pointerdown', 'pointermove', 'keydown', 'wheel', 'visibilitychange'])
      page.addEventListener(kind, noteInput, { capture: true, passive: true });
  }

  get idleMs(): number {
    return performance.now() - this.#lastAt;
  }
}

/**
 * Estimates the latency: the time that an answer takes. The first answer sets the estimate to the time of
 * this answer, and each slower answer does, too. A faster answer lowers the estimate by half at most.
 */
class Latency {
  estimateMs = FIRST_LATENCY_MS;
  /**
   * The estimate in the situation `watched`. Each time-out doubles this estimate, because the next answer may
   * take even longer. The doubled value is at least `ANSWER_MS`, because the estimate may be almost 0. The
   * next answer sets `cautiousMs` to `estimateMs` again.
   */
  cautiousMs = FIRST_LATENCY_MS;
  #isKnown = false;

  noteAnswer(ms: number): void {
    const previousMs = this.#isKnown ? this.estimateMs : 0;
    this.estimateMs = Math.min(LATENCY_MAX_MS, Math.max(ms, previousMs / 2));
    this.cautiousMs = this.estimateMs;
    this.#isKnown = true;
  }

  noteTimeout(): void {
    this.cautiousMs = Math.min(LATENCY_MAX_MS, Math.max(ANSWER_MS, this.cautiousMs * 2));
  }
}

/**
 * Sends requests from `startWatching` on, because a pulled cable causes no event. Without these requests, the
 * page would notice the silence only after 15 s (client/stream.ts). A `Liveness` lives as long as the page.
 */
export class Liveness {
  readonly #options: LivenessOptions;
  readonly #latency = new Latency();
  #isAnswering = true;
  #aliveAt = performance.now();
  #requestedAt = Number.NEGATIVE_INFINITY;
  /**
   * The time of the first request after the last sign of life. The silence before this request does not
   * count, because the browser may have suspended this page.
   */
  #unansweredSince: number | undefined;
  /**
   * True if the node has answered the last request that was sent while the connection was lost. `onReturn`
   * is called only when this becomes true, not for each answer.
   */
  #hasReturned = false;
  #isReturnRequestOpen = false;

  constructor(options: LivenessOptions) {
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
    const situation = this.#options.situation();
    if (situation === 'watched') {
      this.#checkSilence(now);
      return;
    }
    // Silence counts only in the situation `watched`.
    this.#aliveAt = now;
    this.#unansweredSince = undefined;
    if (situation === 'lost') void this.#checkReturn(now);
  }

  #checkSilence(now: number): void {
    // The page is connected. After the next loss, the first answer must lead to `onReturn` again.
    this.#hasReturned = false;
    const latencyMs = this.#latency.cautiousMs;
    const answerMs = ANSWER_MS + 2 * latencyMs;
    if (this.#unansweredSince !== undefined && now - this.#unansweredSince >= answerMs)
      this.#setAnswering(false);
    const isSilent = now - this.#aliveAt >= SILENCE_MS;
    // The last request may still be answered, so the next one waits for `latencyMs` in addition.
    const isRequestRecent = now - this.#requestedAt < SILENCE_MS + latencyMs;
    if (!isSilent || isRequestRecent) return;
    this.#unansweredSince ??= now;
    // After `answerMs` the node is considered away, but a later answer still shows the latency. So the
    // request ends only after twice this time.
    const timeoutMs = 2 * answerMs;
    void this.#request(now, timeoutMs).then((isAnswered) => {
      // A request that fails earlier, such as a refused one, tells nothing about the latency.
      const isTimedOut = performance.now() - now >= timeoutMs;
      if (isAnswered) this.noteAlive();
      else if (isTimedOut) this.#latency.noteTimeout();
    });
  }

  async #checkReturn(now: number): Promise<void> {
    if (this.#isReturnRequestOpen || now - this.#requestedAt < RETURN_MS) return;
    this.#isReturnRequestOpen = true;
    const isAnswered = await this.#request(now, RETURN_MS + 2 * this.#latency.estimateMs);
    this.#isReturnRequestOpen = false;
    // During the request, the connection may have come back, or somebody may have hidden the page.
    if (isAnswered && !this.#hasReturned && this.#options.situation() === 'lost') this.#options.onReturn();
    this.#hasReturned = isAnswered;
  }

  /** Resolves with true if there was an answer in time, and otherwise with false. Never rejects. */
  async #request(now: number, timeoutMs: number): Promise<boolean> {
    this.#requestedAt = now;
    try {
      await withDeadline(timeoutMs, this.#options.request);
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

/**
 * `reboot` and `poweroff` are the actions of the event `power.action`. `restart` means that the service has
 * announced its end (`bye`), without a power action shortly before (presence.ts). `upgrade` means that an
 * upgrade was running when the node was lost.
 */
export type AbsenceReason = 'reboot' | 'poweroff' | 'upgrade' | 'restart';

export interface AnnouncedAbsence {
  readonly reason: AbsenceReason;
  /** Milliseconds since the epoch. */
  readonly at: number;
}

/** Each reason explains an absence for this time. */
const REASON_MS: Readonly<Record<AbsenceReason, number>> = {
  restart: 60_000,
  reboot: 5 * 60_000,
  upgrade: 30 * 60_000,
  poweroff: Number.POSITIVE_INFINITY,
};

/**
 * Returns the reason for the node's absence; undefined if no reason is known, or if the `REASON_MS` of each
 * known reason has passed. `lostSince` and `now` are milliseconds since the epoch.
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
  // An upgrade may restart the service or the node, and no event names the upgrade as the reason. So an
  // upgrade that ran at the loss explains the absence better than the reason `restart` does.
  const isUpgrading = upgrade?.run?.state === 'running' && explains('upgrade', lostSince);
  return isUpgrading ? 'upgrade' : announced;
}
