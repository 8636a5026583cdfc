// Keeps messages that are not retained (events and refusals) while they wait for the broker, and decides
// which of them are dropped. Pure.

import type { Publication } from './retained-topics.js';

export interface PassingMessage extends Publication {
  /**
   * The sender of a command recognizes the answer by this mark (MQTT 5, section 4.10). Only a message for
   * the sender's response topic may have it.
   */
  readonly correlation?: Uint8Array;
}

/** If more messages wait, the oldest are dropped. */
const WAITING_MAX = 256;

export class PassingMessages {
  /** Oldest first. */
  readonly #waiting: PassingMessage[] = [];

  add(message: PassingMessage): void {
    this.#waiting.push(message);
    if (this.#waiting.length > WAITING_MAX) this.#waiting.shift();
  }

  /**
   * The oldest message that the broker accepts. Older ones, which are too large for the broker, are dropped.
   */
  takeNext(
    accepts: (topic: string, text: string, correlation?: Uint8Array) => boolean,
  ): PassingMessage | undefined {
    for (;;) {
      const message = this.#waiting.shift();
      if (message === undefined || accepts(message.topic, message.text, message.correlation)) return message;
    }
  }
}
