// Keeps messages that are not retained (events and refusals) while they wait for the broker, and decides
// which of them are dropped. Pure.

import type { Publication } from './retained-topics.js';

export interface PassingMessage extends Publication {
  /**
   * The sender of a command recognizes the refusal by this mark (MQTT 5, section 4.10). Only a message for
   * the sender's response topic may have the mark.
   */
  readonly correlation?: Uint8Array;
}

/** If more messages than this wait, the oldest are dropped. */
const WAITING_MAX = 256;
/**
 * If all waiting messages together are larger than this, the oldest are dropped, too. Refusals can be large:
 * a refusal repeats the topic, the response topic and the correlation data of its command, and each of these
 * three may have 64 KiB.
 */
const WAITING_SIZE_MAX = 1024 * 1024;

export class PassingMessages {
  /** Oldest first. */
  readonly #waiting: PassingMessage[] = [];
  /** The sum of the sizes of the waiting messages. */
  #waitingSize = 0;

  add(message: PassingMessage): void {
    this.#waiting.push(message);
    this.#waitingSize += messageSize(message);
    while (this.#waiting.length > WAITING_MAX || this.#waitingSize > WAITING_SIZE_MAX) this.#takeOldest();
  }

  /**
   * Takes the oldest message that the broker accepts; undefined if there is none. All older messages are too
   * large for the broker, so they are dropped.
   */
  takeNext(
    accepts: (topic: string, text: string, correlation?: Uint8Array) => boolean,
  ): PassingMessage | undefined {
    for (;;) {
      const message = this.#takeOldest();
      if (message === undefined || accepts(message.topic, message.text, message.correlation)) return message;
    }
  }

  #takeOldest(): PassingMessage | undefined {
    const message = this.#waiting.shift();
    if (message !== undefined) this.#waitingSize -= messageSize(message);
    return message;
  }
}

/** The characters of the message, and the bytes of its correlation data. */
function messageSize({ topic, text, correlation }: PassingMessage): number {
  return topic.length + text.length + (correlation?.byteLength ?? 0);
}
