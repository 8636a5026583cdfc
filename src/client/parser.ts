// Parses the text of an event stream into events, by the rules of the HTML standard (9.2.6). Pure.

export interface ParsedEvent {
  readonly type: string;
  readonly data: string;
}

/** The limit of one event, in UTF-16 units. The node's own events have at most 260 000. */
const EVENT_LENGTH_MAX = 4 * 1024 * 1024;

export class EventParser {
  /** The id to reconnect with: that of the last event, or the constructor's if no event had one. */
  lastEventId: string;
  /** The stream's last `retry:` field. */
  retryMs: number | undefined;
  /** The beginning of a line whose end has not come. */
  #lineBegin = '';
  /**
   * True if the text so far ends in a CR. An LF that comes next belongs to this CR, and ends no other line.
   */
  #endedInCr = false;
  #type = '';
  #data: string | undefined;
  /** The last `id:` field. It becomes `lastEventId` at the end of its event. */
  #id: string;

  constructor(lastEventId: string) {
    this.lastEventId = lastEventId;
    this.#id = lastEventId;
  }

  /**
   * Yields the events that `text` completes. While an event is yielded, `lastEventId` is the id of this
   * event. Throws a RangeError if an event gets too long.
   */
  *feed(text: string): Generator<ParsedEvent> {
    const received = this.#lineBegin + (this.#endedInCr && text.startsWith('\n') ? text.slice(1) : text);
    if (text !== '') this.#endedInCr = text.endsWith('\r');
    const lines = received.split(/\r\n|\r|\n/);
    this.#lineBegin = lines.pop() ?? '';
    for (const line of lines) {
      const event = this.#parseLine(line);
      if (event !== undefined) yield event;
    }
    if (this.#lineBegin.length + (this.#data?.length ?? 0) > EVENT_LENGTH_MAX)
      throw new RangeError('An event that does not end');
  }

  #parseLine(line: string): ParsedEvent | undefined {
    if (line === '') return this.#dispatch();
    const [, field, value = ''] = /^([^:]*):? ?(.*)$/s.exec(line) ?? [];
    if (field === 'data') this.#data = this.#data === undefined ? value : `${this.#data}\n${value}`;
    else if (field === 'event') this.#type = value;
    else if (field === 'id' && !value.includes('\0')) this.#id = value;
    else if (field === 'retry' && /^\d+$/.test(value)) this.retryMs = Number(value);
    return undefined;
  }

  #dispatch(): ParsedEvent | undefined {
    const type = this.#type || 'message';
    const data = this.#data;
    this.lastEventId = this.#id;
    this.#type = '';
    this.#data = undefined;
    return data === undefined ? undefined : { type, data };
  }
}
