// Decides of which backends the client must fetch what the stream lacks.

import type { NodeEvent } from './events.js';
import type { NodeState } from './node-state.js';
import type { Backend } from './records.js';

/**
 * A backend is due once when it has come up. Another event of a backend that is up must cause no request: a
 * request to `power` starts a thread, and the start and the end of this thread are such events.
 */
export class FetchedBackends {
  readonly #fetched = new Set<string>();

  /** To be called for each event, because a backend may go and come up again within one read. */
  note({ type, data }: NodeEvent): void {
    if (type === 'backend.updated' && data.state !== 'up') this.#fetched.delete(data.backend);
  }

  /** To be called when a snapshot begins, and when a backend may have gone unnoticed. */
  forget(): void {
    this.#fetched.clear();
  }

  /** True once until the backend has gone. */
  takeDue(backend: Backend, { backends }: NodeState): boolean {
    if (backends.get(backend)?.state !== 'up' || this.#fetched.has(backend)) return false;
    this.#fetched.add(backend);
    return true;
  }
}
