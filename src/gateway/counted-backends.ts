// The backends as the gateway asks them; `pending` counts the answers that are still to come. It changes nothing else.

import type { Backend } from '../protocol/actor/backends.js';
import type { Answer, Command } from '../protocol/actor/commands.js';
import type { Backends } from '../protocol/actor/messages.js';
import { PendingCount } from './pending-count.js';

export class CountedBackends implements Backends {
  readonly pending = new PendingCount();
  readonly #backends: Backends;

  constructor(backends: Backends) {
    this.#backends = backends;
  }

  async ask<B extends Backend>(backend: B, command: Command<B>): Promise<Answer> {
    this.pending.up();
    try {
      return await this.#backends.ask(backend, command);
    } finally {
      this.pending.down();
    }
  }
}
