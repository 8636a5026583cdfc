// Messages that are not retained, events and errors, while they wait for the broker. Pure.

import type { Publication } from './retained-topics.js';

/** Beyond this the oldest messages are dropped. */
const PASSING_MAX = 256;

export class PassingMessages {
  readonly #waiting: Publication[] = [];

  add(message: Publication): void {
    this.#waiting.push(message);
    if (this.#waiting.length > PASSING_MAX) this.#waiting.shift();
  }

  /** Takes the oldest message. Messages that are too large for the broker are dropped. */
  next(accepts: (topic: string, text: string) => boolean): Publication | undefined {
    for (;;) {
      const message = this.#waiting.shift();
      if (message === undefined || accepts(message.topic, message.text)) return message;
    }
  }
}
