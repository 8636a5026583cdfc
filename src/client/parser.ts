// Text of an event stream -> events, by the rules of the HTML standard (9.2.6). Pure.

export interface ParsedEvent {
  readonly type: string;
  readonly data: string;
}

/** In UTF-16 units, of one event; the node's own are 260 000 at most. */
const EVENT_LENGTH_MAX = 4 * 1024 * 1024;

export class EventParser {
  /** To come back with: of the last event, or from before. */
  lastEventId: string;
  /** As the stream wishes it, if it does. */
  retryMs: number | undefined;
  #rest = '';
  #endedInCr = false;
  #type = '';
  #data: string | undefined;
  #id: string;

  constructor(lastEventId: string) {
    this.lastEventId = lastEventId;
    this.#id = lastEventId;
  }

  /** The events that `text` completes, each with its id in `lastEventId` while it is handed over. Throws a RangeError on one without end. */
  *feed(text: string): Generator<ParsedEvent> {
    const whole = this.#rest + (this.#endedInCr && text.startsWith('\n') ? text.slice(1) : text);
    if (text !== '') this.#endedInCr = text.endsWith('\r');
    const lines = whole.split(/\r\n|\r|\n/);
    this.#rest = lines.pop() ?? '';
    for (const line of lines) {
      const event = this.#line(line);
      if (event !== undefined) yield event;
    }
    if (this.#rest.length + (this.#data?.length ?? 0) > EVENT_LENGTH_MAX)
      throw new RangeError('An event without end');
  }

  #line(line: string): ParsedEvent | undefined {
    if (line === '') return this.#dispatch();
    const [, field, value = ''] = /^([^:]*):? ?(.*)$/s.exec(line) ?? [];
    if (field === 'data') this.#data = this.#data === undefined ? value : `${this.#data}\n${value}`;
    else if (field === 'event') this.#type = value;
    else if (field === 'id' && !value.includes('\0')) this.#id = value;
    else if (field === 'retry' && /^\d+$/.test(value)) this.retryMs = Number(value);
    return undefined;
  }

  #dispatch(): ParsedEvent | undefined {
    const [type, data] = [this.#type || 'message', this.#data];
    this.lastEventId = this.#id;
    this.#type = '';
    this.#data = undefined;
    return data === undefined ? undefined : { type, data };
  }
}
