// Messages that are not retained, events and errors, while they wait for the broker. Pure.

import type { Publication } from './retained-topics.js';

export interface Passing extends Publication {
  /** The sender's mark in the answer to its command (MQTT 5, section 4.10). */
  readonly correlation?: Uint8Array;
}

/** Beyond this the oldest messages are dropped. */
const PASSING_MAX = 256;

export class PassingMessages {
  readonly #waiting: Passing[] = [];

  add(message: Passing): void {
    this.#waiting.push(message);
    if (this.#waiting.length > PASSING_MAX) this.#waiting.shift();
  }

  /** Takes the oldest message. Messages that are too large for the broker are dropped. */
  next(accepts: (topic: string, text: string, correlation?: Uint8Array) => boolean): Passing | undefined {
    for (;;) {
      const message = this.#waiting.shift();
      if (message === undefined || accepts(message.topic, message.text, message.correlation)) return message;
    }
  }
}
