// A copy of a request's head. It stays valid after an await, unlike the head of uWebSockets.js. Pure.

import type { HeaderPair } from './reply.js';

/** A request of uWebSockets.js has these methods, too. */
export interface RequestHead {
  /** The result is '' if there is no such header. `name` must be in lower case. */
  getHeader(name: string): string;
  getQuery(): string | undefined;
  forEach(visit: (name: string, value: string) => void): void;
}

export class KeptRequest implements RequestHead {
  readonly #headers: HeaderPair[] = [];
  readonly #query: string | undefined;

  constructor(request: RequestHead) {
    request.forEach((name, value) => {
      this.#headers.push([name, value]);
    });
    this.#query = request.getQuery();
  }

  getHeader(requestedName: string): string {
    return this.#headers.find(([name]) => name === requestedName)?.[1] ?? '';
  }

  getQuery(): string | undefined {
    return this.#query;
  }

  forEach(visit: (name: string, value: string) => void): void {
    for (const [name, value] of this.#headers) visit(name, value);
  }
}
