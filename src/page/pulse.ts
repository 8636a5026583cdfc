// Whether the node still answers: a cable that is pulled tells nobody, and the stream's own silence is noticed only after 15 s.
// Asks often only while a hand is at the page and nothing else comes. While the connection is lost it asks whether the node is back.

/** `resting`: nobody looks, or no hand has been here for a while; the stream's own keep-alive has to do. */
export type Attention = 'watched' | 'resting' | 'lost';

export interface PulseOptions {
  /** One question; rejects, or does not settle, when there is no answer. */
  readonly ask: (signal: AbortSignal) => Promise<unknown>;
  readonly attention: () => Attention;
  /** Each time that it changes. */
  readonly onChange: (isBeating: boolean) => void;
  /** While the connection is lost: the node answers, and did not before. */
  readonly onReturn: () => void;
}

const LOOK_MS = 100;
/** After a silence of so long it is asked. */
const ASK_MS = 350;
/** Without an answer for so long it has stopped: with two looks, within a second of its last sign. */
const ANSWER_MS = 450;
/** Between two questions to a node that is lost; each has as long. */
const RETURN_MS = 1000;
/** A page without a hand for so long rests. */
export const HAND_MS = 60_000;

/** How long, in ms, no hand has been at the page; the first load counts as one. */
export function watchHands(page: EventTarget): () => number {
  let at = performance.now();
  const note = (): void => {
    at = performance.now();
  };
  for (const sign of ['pointerdown', 'pointermove', 'keydown', 'wheel', 'visibilitychange'])
    page.addEventListener(sign, note, { capture: true, passive: true });
  return () => performance.now() - at;
}

/** Goes on for as long as the page lives. The answer is to be called at each sign of life. */
export function watchPulse({ ask, attention, onChange, onReturn }: PulseOptions): () => void {
  let isBeating = true;
  let heardAt = performance.now();
  let askedAt = 0;
  /** Of the first question since the last sign of life: a page that stood still itself has heard nothing, but has not asked. */
  let openSince: number | undefined;
  /** While it is lost: whether the last question had an answer. */
  let isBack = false;
  const tell = (now: boolean): void => {
    if (now === isBeating) return;
    isBeating = now;
    onChange(now);
  };
  const heard = (): void => {
    heardAt = performance.now();
    openSince = undefined;
    tell(true);
  };
  const watch = (now: number): void => {
    isBack = false;
    if (openSince !== undefined && now - openSince >= ANSWER_MS) tell(false);
    if (now - Math.max(heardAt, askedAt) < ASK_MS) return;
    askedAt = now;
    openSince ??= now;
    // That there was no answer shows in the time that passes.
    ask(AbortSignal.timeout(2 * ANSWER_MS)).then(heard, () => undefined);
  };
  const awaitReturn = (now: number): void => {
    heardAt = now;
    openSince = undefined;
    if (now - askedAt < RETURN_MS) return;
    askedAt = now;
    ask(AbortSignal.timeout(RETURN_MS)).then(
      () => {
        if (!isBack && attention() === 'lost') onReturn();
        isBack = true;
      },
      () => {
        isBack = false;
      },
    );
  };
  const rest = (now: number): void => {
    heardAt = now;
    openSince = undefined;
  };
  const looks = { watched: watch, lost: awaitReturn, resting: rest } as const;
  setInterval(() => looks[attention()](performance.now()), LOOK_MS);
  return heard;
}
