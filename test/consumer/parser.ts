// The event stream interpretation of the HTML standard (9.2.6), to the letter: it takes bytes and gives the events that a browser
// dispatches. It does no I/O, and shares no code with the writer of streams.

export interface DispatchedEvent {
  readonly type: string;
  readonly data: string;
  readonly lastEventId: string;
}

/** One parser per connection: the end of a connection discards an incomplete event; ids and retry times are kept elsewhere. */
export class EventStreamParser {
  /** Strips one leading byte order mark and replaces ill-formed bytes, as "UTF-8 decode" of the standard requires. */
  readonly #decoder = new TextDecoder('utf-8');
  readonly #onEvent: (event: DispatchedEvent) => void;
  #line = '';
  #endedWithCr = false;
  #data = '';
  #type = '';
  #idBuffer: string;
  #lastEventId: string;
  #retryMs: number | undefined;

  /** `lastEventId` is the id with which the connection was opened: the buffer starts with it, and events without an id repeat it. */
  constructor(onEvent: (event: DispatchedEvent) => void, lastEventId = '') {
    this.#onEvent = onEvent;
    this.#idBuffer = lastEventId;
    this.#lastEventId = lastEventId;
  }

  /** The id that a reconnection would send. */
  get lastEventId(): string {
    return this.#lastEventId;
  }

  get retryMs(): number | undefined {
    return this.#retryMs;
  }

  /** A block without its blank line at the stream's end is never dispatched, so no method marks the end. */
  feed(bytes: Uint8Array): void {
    const decoded = this.#decoder.decode(bytes, { stream: true });
    if (decoded === '') return;
    // Skips the second half of a CRLF whose first half has already ended its line.
    const text = this.#endedWithCr && decoded.startsWith('\n') ? decoded.slice(1) : decoded;
    this.#endedWithCr = decoded.endsWith('\r');
    const lines = (this.#line + text).split(/\r\n?|\n/);
    this.#line = lines.pop() ?? '';
    for (const line of lines) this.#interpret(line);
  }

  #interpret(line: string): void {
    if (line === '') {
      this.#dispatch();
      return;
    }
    const colon = line.indexOf(':');
    if (colon === 0) return;
    if (colon < 0) {
      this.#field(line, '');
      return;
    }
    const value = line.slice(colon + 1);
    this.#field(line.slice(0, colon), value.startsWith(' ') ? value.slice(1) : value);
  }

  #field(name: string, value: string): void {
    if (name === 'event') this.#type = value;
    else if (name === 'data') this.#data += `${value}\n`;
    else if (name === 'id' && !value.includes('\0')) this.#idBuffer = value;
    else if (name === 'retry' && /^[0-9]+$/.test(value)) this.#retryMs = Number.parseInt(value, 10);
  }

  #dispatch(): void {
    this.#lastEventId = this.#idBuffer;
    const data = this.#data;
    const type = this.#type;
    this.#data = '';
    this.#type = '';
    if (data === '') return;
    this.#onEvent({
      type: type === '' ? 'message' : type,
      data: data.endsWith('\n') ? data.slice(0, -1) : data,
      lastEventId: this.#lastEventId,
    });
  }
}

/** The result for a stream that came in pieces, and the id that a reconnection would send. */
interface Parsed {
  readonly events: readonly DispatchedEvent[];
  readonly retryMs: number | undefined;
  readonly lastEventId: string;
}
export type Parse = (pieces: readonly Uint8Array[], lastEventId: string) => Parsed;

export const parsedByConsumer: Parse = (pieces, before) => {
  const events: DispatchedEvent[] = [];
  const parser = new EventStreamParser((event) => events.push(event), before);
  for (const piece of pieces) parser.feed(piece);
  return { events, retryMs: parser.retryMs, lastEventId: parser.lastEventId };
};
