// The client's parser of event streams for consumers that get bytes: client/parser.test.ts shows that it
// follows the standard. It shares no code with the writer of streams.

import { EventParser, type ParsedEvent } from '../../src/client/parser.js';

export interface DispatchedEvent extends ParsedEvent {
  readonly lastEventId: string;
}

/** One parser per connection: the end of a connection discards an incomplete event. */
export class EventStreamParser extends EventParser {
  readonly #decoder = new TextDecoder();

  /**
   * Events without an id repeat the one before, which is at first that with which the connection was opened.
   */
  *read(bytes: Uint8Array): Generator<DispatchedEvent> {
    for (const event of this.feed(this.#decoder.decode(bytes, { stream: true })))
      yield { ...event, lastEventId: this.lastEventId };
  }
}

/** The events of a stream that came in pieces, and what a reconnection would be made with. */
export function parsedByConsumer(pieces: readonly Uint8Array[], before: string) {
  const parser = new EventStreamParser(before);
  const events = pieces.flatMap((piece) => [...parser.read(piece)]);
  return { events, retryMs: parser.retryMs, lastEventId: parser.lastEventId };
}
