// What follows from the node's hostname, which may change while the service runs (`hostnamectl hostname`): the names that
// trust knows and the page of `GET /server`. Pure: the clock and the reading of the hostname are arguments.

import type { Page } from './page.js';
import type { TrustRules } from './trust.js';

/** To read the hostname takes 0.2 µs, a whole `GET /server` 7 µs (measured): not with each of them. */
const LOOK_EVERY_MS = 1000;

export interface Named {
  readonly rules: TrustRules;
  readonly serverPage: Page;
}

export class OwnName {
  readonly #read: () => string;
  readonly #derive: (hostname: string) => Named;
  readonly #monotonic: () => number;
  #lookedAt: number;
  #hostname: string;
  #named: Named;

  /** `monotonic` gives milliseconds of a clock that never goes back. */
  constructor(read: () => string, derive: (hostname: string) => Named, monotonic: () => number) {
    this.#read = read;
    this.#derive = derive;
    this.#monotonic = monotonic;
    this.#lookedAt = monotonic();
    this.#hostname = read();
    this.#named = derive(this.#hostname);
  }

  /** As of the last look. */
  get rules(): TrustRules {
    return this.#named.rules;
  }

  /** True within a second. */
  serverPage(): Page {
    if (this.#monotonic() - this.#lookedAt >= LOOK_EVERY_MS) this.look();
    return this.#named.serverPage;
  }

  /** Reads the hostname again. */
  look(): void {
    this.#lookedAt = this.#monotonic();
    const hostname = this.#read();
    if (hostname === this.#hostname) return;
    this.#hostname = hostname;
    this.#named = this.#derive(hostname);
  }
}
