// A moment that comes at most once, and for which others wait, such as the first message of a thread.

export class Milestone {
  #resolve: (() => void) | undefined;
  readonly reached = new Promise<void>((resolve) => {
    this.#resolve = resolve;
  });

  /** Later calls do nothing. */
  reach(): void {
    const resolve = this.#resolve;
    // A further call of `resolve` would do nothing, but Node would report it (`multipleResolves`).
    this.#resolve = undefined;
    resolve?.();
  }
}
