// Work that must not overlap: steps one after the other, and a piece of work that all who ask for it
// meanwhile share.

/** The function that runs each step when the one before has ended, well or not. */
export function inTurn(): <T>(step: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve();
  return (step) => {
    const next = last.then(step);
    last = next.catch(() => undefined);
    return next;
  };
}

/**
 * The function that begins `work`, which does not reject, and resolves to what a run gives that began after
 * the call. One runs at a time.
 */
export function shared<T>(work: () => Promise<T>): () => Promise<T> {
  let running: Promise<T> | undefined;
  let next: Promise<T> | undefined;
  const begin = (): Promise<T> => {
    next = undefined;
    running = work().finally(() => {
      running = undefined;
    });
    return running;
  };
  return () => {
    if (running === undefined) return next ?? begin();
    next ??= running.then(begin);
    return next;
  };
}
