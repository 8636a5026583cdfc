// The backends as the gateway asks them, with a count of the answers that are still to come. It changes nothing else.

import type { Backend } from '../protocol/actor/backends.js';
import type { Answer, Command } from '../protocol/actor/commands.js';
import type { Backends } from '../protocol/actor/messages.js';
import type { Schedule } from './events/keepalive.js';

export class CountedBackends implements Backends {
  readonly #backends: Backends;
  readonly #schedule: Schedule;
  #underWay = 0;
  #onNone: () => void = () => undefined;

  constructor(backends: Backends, schedule: Schedule) {
    this.#backends = backends;
    this.#schedule = schedule;
  }

  async ask<B extends Backend>(backend: B, command: Command<B>): Promise<Answer> {
    this.#underWay += 1;
    try {
      return await this.#backends.ask(backend, command);
    } finally {
      this.#underWay -= 1;
      if (this.#underWay === 0) this.#onNone();
    }
  }

  /** Resolves when no answer is to come any more, at the latest after `deadlineMs`. */
  settled(deadlineMs: number): Promise<void> {
    if (this.#underWay === 0) return Promise.resolve();
    return new Promise((resolve) => {
      const cancel = this.#schedule(deadlineMs, resolve);
      this.#onNone = () => {
        cancel();
        resolve();
      };
    });
  }
}
