// Parses an event stream that comes as bytes. It decodes the bytes for the client's parser, which reads text.
// client/parser.test.ts shows that the client's parser follows the HTML standard. The gateway, which writes
// the stream, shares no code with these parsers.

import { EventParser, type ParsedEvent } from '../../src/client/parser.js';

export interface DispatchedEvent extends ParsedEvent {
  readonly lastEventId: string;
}

/** Each connection needs a new parser, because an incomplete event is discarded when its connection ends. */
export class EventStreamParser extends EventParser {
  readonly #decoder = new TextDecoder();

  /**
   * An event without an id has the last id that the stream has sent before. If the stream has sent no id
   * before, the event has the id with which the connection was opened.
   */
  *read(bytes: Uint8Array): Generator<DispatchedEvent> {
    for (const event of this.feed(this.#decoder.decode(bytes, { stream: true })))
      yield { ...event, lastEventId: this.lastEventId };
  }
}

/**
 * Parses a stream that came in pieces, on a connection that was opened with the id `openedWith`. Returns the
 * events, the pause before a reconnection, and the id for a reconnection.
 */
export function parsedByConsumer(pieces: readonly Uint8Array[], openedWith: string) {
  const parser = new EventStreamParser(openedWith);
  const events = pieces.flatMap((piece) => [...parser.read(piece)]);
  return { events, retryMs: parser.retryMs, lastEventId: parser.lastEventId };
}
