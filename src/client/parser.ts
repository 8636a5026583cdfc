// Parses the text of an event stream into events, by the rules of the HTML standard (9.2.6). Pure.

export interface ParsedEvent {
  readonly type: string;
  readonly data: string;
}

/**
 * The limit of one event, in UTF-16 units. No line of the node is longer than 120 KiB (docs/events.md, "Long
 * lines").
 */
const EVENT_LENGTH_MAX = 4 * 1024 * 1024;

export class EventParser {
  /** The last id that an event had. Before the first such event, it is the constructor's argument. */
  lastEventId: string;
  /** The stream's last `retry:` field. */
  retryMs: number | undefined;
  /** A line whose end has not come. */
  #unfinishedLine = '';
  /**
   * True if the last text that was not empty ended in a CR. If the next text begins with an LF, this LF
   * belongs to the CR, and does not end another line.
   */
  #lastTextEndsInCr = false;
  #type = '';
  #data: string | undefined;
  /** The last `id:` field. It becomes `lastEventId` when its event ends. */
  #nextEventId: string;

  constructor(lastEventId: string) {
    this.lastEventId = lastEventId;
    this.#nextEventId = lastEventId;
  }

  /**
   * Yields the events that `text` completes. While an event is yielded, `lastEventId` is the event's id. If
   * the event has none, `lastEventId` keeps its value. Throws a RangeError if an event gets too long.
   */
  *feed(text: string): Generator<ParsedEvent> {
    const received =
      this.#unfinishedLine + (this.#lastTextEndsInCr && text.startsWith('\n') ? text.slice(1) : text);
    if (text !== '') this.#lastTextEndsInCr = text.endsWith('\r');
    const lines = received.split(/\r\n|\r|\n/);
    this.#unfinishedLine = lines.pop() ?? '';
    for (const line of lines) {
      const event = this.#parseLine(line);
      if (event !== undefined) yield event;
    }
    if (this.#unfinishedLine.length + (this.#data?.length ?? 0) > EVENT_LENGTH_MAX)
      throw new RangeError('An event that does not end');
  }

  #parseLine(line: string): ParsedEvent | undefined {
    if (line === '') return this.#dispatch();
    // `data: 1` and `data:1` both have the field `data` and the value `1`. The line `data` has an empty
    // value. A comment, such as `: text`, has a field with an empty name.
    const [, field, value = ''] = /^([^:]*):? ?(.*)$/s.exec(line) ?? [];
    if (field === 'data') this.#data = this.#data === undefined ? value : `${this.#data}\n${value}`;
    else if (field === 'event') this.#type = value;
    else if (field === 'id' && !value.includes('\0')) this.#nextEventId = value;
    else if (field === 'retry' && /^\d+$/.test(value)) this.retryMs = Number(value);
    return undefined;
  }

  #dispatch(): ParsedEvent | undefined {
    const type = this.#type || 'message';
    const data = this.#data;
    this.lastEventId = this.#nextEventId;
    this.#type = '';
    this.#data = undefined;
    return data === undefined ? undefined : { type, data };
  }
}
