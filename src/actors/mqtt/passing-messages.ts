// Keeps messages that are not retained (events and refusals) while they wait for the broker, and decides
// which of them are dropped. Pure.

import type { Publication } from './retained-topics.js';

export interface PassingMessage extends Publication {
  /**
   * In the answer to a command: the mark by which its sender recognizes the answer (MQTT 5, section 4.10).
   */
  readonly correlation?: Uint8Array;
}

/** If more messages wait, the oldest are dropped. */
const WAITING_MAX = 256;

export class PassingMessages {
  /** The oldest is the first. */
  readonly #waiting: PassingMessage[] = [];

  add(message: PassingMessage): void {
    this.#waiting.push(message);
    if (this.#waiting.length > WAITING_MAX) this.#waiting.shift();
  }

  /**
   * Takes the oldest message that the broker accepts. Older messages are dropped, because they are too large
   * for the broker. Undefined if none is left.
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
