// Decides whether the node is there, and whether its absence is explained. A pulled cable causes no event,
// and the stream detects silence only after 15 s. Asks often only while the page is in use and nothing else
// arrives; while the connection is lost, whether the node is back. All its deadlines grow with the time that
// answers take on the way.

import type { NodeState } from '../client/client.js';
import { withDeadline } from '../client/deadline.js';

/** `resting`: the page is hidden or without input for a while; the stream's own keep-alive must do. */
export type Attention = 'watched' | 'resting' | 'lost';

export interface PulseOptions {
  /** One request; rejects, or does not settle, if there is no answer. */
  readonly ask: (signal: AbortSignal) => Promise<unknown>;
  readonly attention: () => Attention;
  readonly onChange: (isBeating: boolean) => void;
  /** Called when the node answers again while the connection is lost. */
  readonly onReturn: () => void;
}

const LOOK_MS = 100;
/** Asks after this much silence. */
const ASK_MS = 350;
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

/** Returns the time in ms since the last input; loading the page counts as input. */
export function watchHands(page: EventTarget): () => number {
  let at = performance.now();
  const note = (): void => {
    at = performance.now();
  };
  for (const sign of ['pointerdown', 'pointermove', 'keydown', 'wheel', 'visibilitychange'])
    page.addEventListener(sign, note, { capture: true, passive: true });
  return () => performance.now() - at;
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

/** Runs as long as the page lives. Call the returned function at each sign of life of the node. */
export function watchPulse({ ask, attention, onChange, onReturn }: PulseOptions): () => void {
  const way = new Way();
  let isBeating = true;
  let aliveAt = performance.now();
  let askedAt = Number.NEGATIVE_INFINITY;
  /**
   * First unanswered request since the last sign of life. Silence alone does not count: the page itself may
   * have been suspended.
   */
  let openSince: number | undefined;
  /** While the connection is lost: true if the last request was answered. */
  let isBack = false;
  let isAskingForReturn = false;
  const report = (now: boolean): void => {
    if (now !== isBeating) onChange(now);
    isBeating = now;
  };
  const noteAlive = (): void => {
    aliveAt = performance.now();
    openSince = undefined;
    report(true);
  };
  /** Resolves with whether there was an answer in time. */
  const isAnswered = async (now: number, deadlineMs: number): Promise<boolean> => {
    askedAt = now;
    try {
      await withDeadline(deadlineMs, ask);
    } catch {
      return false;
    }
    way.noteAnswer(performance.now() - now);
    return true;
  };
  const watch = (now: number): void => {
    isBack = false;
    const answerMs = ANSWER_MS + 2 * way.patientMs;
    if (openSince !== undefined && now - openSince >= answerMs) report(false);
    if (now - aliveAt < ASK_MS || now - askedAt < ASK_MS + way.patientMs) return;
    openSince ??= now;
    void isAnswered(now, 2 * answerMs).then((is) => {
      if (is) noteAlive();
      else if (performance.now() - now >= 2 * answerMs) way.noteLate();
    });
  };
  const awaitReturn = async (now: number): Promise<void> => {
    if (isAskingForReturn || now - askedAt < RETURN_MS) return;
    isAskingForReturn = true;
    const is = await isAnswered(now, RETURN_MS + 2 * way.answeredMs);
    isAskingForReturn = false;
    if (is && !isBack && attention() === 'lost') onReturn();
    isBack = is;
  };
  setInterval(() => {
    const now = performance.now();
    const what = attention();
    if (what === 'watched') return watch(now);
    aliveAt = now;
    openSince = undefined;
    if (what === 'lost') void awaitReturn(now);
  }, LOOK_MS);
  return noteAlive;
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
