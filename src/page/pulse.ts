// Whether the node still answers: a cable that is pulled tells nobody, and the stream's own silence is noticed only after seconds.
// Asks while the page is seen and nothing else comes: where sound plays and meters move, not at all.

export interface PulseOptions {
  /** One question; rejects, or does not settle, when there is no answer. */
  readonly ask: (signal: AbortSignal) => Promise<unknown>;
  /** Whether anybody looks. */
  readonly isWatched: () => boolean;
  /** Each time that it changes. */
  readonly onChange: (isBeating: boolean) => void;
}

const LOOK_MS = 100;
/** After a silence of so long it is asked. */
const ASK_MS = 350;
/** Without an answer for so long it has stopped: with two looks, within a second of its last sign. */
const ANSWER_MS = 450;

/** Goes on for as long as the page lives. The answer is to be called at each sign of life. */
export function watchPulse({ ask, isWatched, onChange }: PulseOptions): () => void {
  let isBeating = true;
  let heardAt = performance.now();
  let askedAt = 0;
  /** Of the first question since the last sign of life: a page that stood still itself has heard nothing, but has not asked. */
  let openSince: number | undefined;
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
  setInterval(() => {
    const now = performance.now();
    if (!isWatched()) {
      heardAt = now;
      openSince = undefined;
      return;
    }
    if (openSince !== undefined && now - openSince >= ANSWER_MS) tell(false);
    if (now - Math.max(heardAt, askedAt) < ASK_MS) return;
    askedAt = now;
    openSince ??= now;
    // That there was no answer shows in the time that passes.
    ask(AbortSignal.timeout(2 * ANSWER_MS)).then(heard, () => undefined);
  }, LOOK_MS);
  return heard;
}
