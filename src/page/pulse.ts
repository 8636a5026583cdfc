// Whether the node still answers: a cable that is pulled tells nobody, and the stream's own silence is noticed only after seconds.
// Asks while the page is seen, and costs the node a few answers a second then.

export interface PulseOptions {
  /** One question; rejects, or does not settle, when there is no answer. */
  readonly ask: (signal: AbortSignal) => Promise<unknown>;
  /** Whether anybody looks. */
  readonly isWatched: () => boolean;
  /** Each time that it changes. */
  readonly onChange: (isBeating: boolean) => void;
}

/** The next question is asked so long after the last, answered or not. */
const BEAT_MS = 250;
/** Without an answer for so long, it has stopped: with the beat, a second after the last one. */
const STOPPED_MS = 750;

/** Goes on for as long as the page lives. */
export function watchPulse({ ask, isWatched, onChange }: PulseOptions): void {
  let isBeating = true;
  let heardAt = performance.now();
  const tell = (now: boolean): void => {
    if (now === isBeating) return;
    isBeating = now;
    onChange(now);
  };
  setInterval(() => {
    const now = performance.now();
    if (!isWatched()) {
      heardAt = now;
      return;
    }
    if (now - heardAt > STOPPED_MS) tell(false);
    ask(AbortSignal.timeout(STOPPED_MS)).then(
      () => {
        heardAt = performance.now();
        tell(true);
      },
      // That there was no answer shows in the time of the last one.
      () => undefined,
    );
  }, BEAT_MS);
}
