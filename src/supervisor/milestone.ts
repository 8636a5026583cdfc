// Lets callers wait for a moment that comes at most once, such as the moment when a child has stopped.

export class Milestone {
  isReached = false;
  #resolve: (() => void) | undefined;
  readonly reached = new Promise<void>((resolve) => {
    this.#resolve = resolve;
  });

  /** Only the first call has an effect. */
  reach(): void {
    // A second call of `#resolve` would change nothing, but Node would report it (`multipleResolves`).
    if (this.isReached) return;
    this.isReached = true;
    this.#resolve?.();
  }
}
