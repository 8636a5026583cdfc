// The client's parser of event streams for consumers that get bytes: client/parser.test.ts shows that it follows the standard. It shares
// no code with the writer of streams.

import { EventParser } from '../../src/client/parser.js';

export interface DispatchedEvent {
  readonly type: string;
  readonly data: string;
  readonly lastEventId: string;
}

/** One parser per connection: the end of a connection discards an incomplete event. */
export class EventStreamParser {
  readonly #decoder = new TextDecoder();
  readonly #parser: EventParser;

  /** `lastEventId` is the id with which the connection was opened; events without an id repeat it. */
  constructor(lastEventId = '') {
    this.#parser = new EventParser(lastEventId);
  }

  /** The id that a reconnection would send. */
  get lastEventId(): string {
    return this.#parser.lastEventId;
  }

  get retryMs(): number | undefined {
    return this.#parser.retryMs;
  }

  *feed(bytes: Uint8Array): Generator<DispatchedEvent> {
    for (const event of this.#parser.feed(this.#decoder.decode(bytes, { stream: true })))
      yield { ...event, lastEventId: this.#parser.lastEventId };
  }
}

/** The events of a stream that came in pieces, and what a reconnection would be made with. */
export function parsedByConsumer(pieces: readonly Uint8Array[], before: string) {
  const parser = new EventStreamParser(before);
  const events = pieces.flatMap((piece) => [...parser.feed(piece)]);
  return { events, retryMs: parser.retryMs, lastEventId: parser.lastEventId };
}
