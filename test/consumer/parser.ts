// Parses an event stream that comes as bytes. The client's parser, which reads text, does most of this.
// client/parser.test.ts shows that the client's parser follows the standard. The gateway, which writes the
// stream, shares no code with these parsers.

import { EventParser, type ParsedEvent } from '../../src/client/parser.js';

export interface DispatchedEvent extends ParsedEvent {
  readonly lastEventId: string;
}

/** One parser per connection: the end of a connection discards an incomplete event. */
export class EventStreamParser extends EventParser {
  readonly #decoder = new TextDecoder();

  /**
   * An event without an id has the last id before it. If there is none, it has the id with which the
   * connection was opened.
   */
  *read(bytes: Uint8Array): Generator<DispatchedEvent> {
    for (const event of this.feed(this.#decoder.decode(bytes, { stream: true })))
      yield { ...event, lastEventId: this.lastEventId };
  }
}

/**
 * The events of a stream that came in pieces, and the pause and the id for a reconnection. The connection
 * was opened with the id `openedWith`.
 */
export function parsedByConsumer(pieces: readonly Uint8Array[], openedWith: string) {
  const parser = new EventStreamParser(openedWith);
  const events = pieces.flatMap((piece) => [...parser.read(piece)]);
  return { events, retryMs: parser.retryMs, lastEventId: parser.lastEventId };
}
