// A moment that comes at most once, and for which others wait, such as the first message of a thread.

export class Milestone {
  isReached = false;
  #resolve: (() => void) | undefined;
  readonly reached = new Promise<void>((resolve) => {
    this.#resolve = resolve;
  });

  /** Later calls do nothing. */
  reach(): void {
    // A further call of `#resolve` would do nothing, but Node would report it (`multipleResolves`).
    if (this.isReached) return;
    this.isReached = true;
    this.#resolve?.();
  }
}
