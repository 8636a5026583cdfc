// A promise that the test itself resolves.

export class Deferred<T> {
  readonly promise: Promise<T>;
  #resolve: (value: T) => void = () => undefined;

  constructor() {
    this.promise = new Promise((resolve) => {
      this.#resolve = resolve;
    });
  }

  /** Only the first call has an effect. */
  resolve(value: T): void {
    this.#resolve(value);
  }
}
