// An EventSource for tests over a real connection, by the standard's rules, that can also do what no browser does: stop
// reading, and break off. Reconnecting is the test's decision. It knows nothing of the daemon's code.

import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { NamesHeld } from './names-held.js';
import { type DispatchedEvent, EventStreamParser } from './parser.js';
import { StateModel } from './state-model.js';

const UNTIL_MS_MAX = 15_000;

export class EventConsumer {
  /** Of all connections, in order. */
  readonly events: DispatchedEvent[] = [];
  /** What the events tell. */
  readonly model = new StateModel();
  /** The same, as clients see it that know records by name. */
  readonly names = new NamesHeld();
  readonly #url: string;
  #response: IncomingMessage;
  #parser: EventStreamParser;
  #ended = false;
  readonly #watchers = new Set<() => void>();

  private constructor(url: string, response: IncomingMessage) {
    this.#url = url;
    this.#response = response;
    this.#parser = this.#listen(response, '');
  }

  /** Resolves when the status and the headers are there. */
  static async open(url: string): Promise<EventConsumer> {
    return new EventConsumer(url, await request(url, ''));
  }

  get status(): number {
    return this.#response.statusCode ?? 0;
  }

  get retryMs(): number | undefined {
    return this.#parser.retryMs;
  }

  get lastEventId(): string {
    return this.#parser.lastEventId;
  }

  /** The current connection is over, in order or not. */
  get ended(): boolean {
    return this.#ended;
  }

  /** The events of one type, parsed. */
  dataOf(type: string): readonly unknown[] {
    return this.events.filter((event) => event.type === type).map((event): unknown => JSON.parse(event.data));
  }

  /** Resolves as soon as `condition` holds; it is looked at after every chunk. Rejects, saying what was seen, after 15 s unless given. */
  until(
    condition: (consumer: EventConsumer) => boolean,
    what = 'the condition',
    deadlineMs = UNTIL_MS_MAX,
  ): Promise<void> {
    return new Promise((resolve, reject) => {
      const settle = (): void => {
        clearTimeout(deadline);
        this.#watchers.delete(look);
      };
      const look = (): void => {
        try {
          if (!condition(this)) return;
          settle();
          resolve();
        } catch (error) {
          settle();
          reject(error);
        }
      };
      const deadline = setTimeout(() => {
        settle();
        const tail = this.events.slice(-5).map(({ type, data }) => `${type} ${data.slice(0, 200)}`);
        reject(
          new Error(`${what} did not come; ${this.events.length} events, the last: ${tail.join(' | ')}`),
        );
      }, deadlineMs);
      this.#watchers.add(look);
      look();
    });
  }

  /** Stops reading: the kernel's buffers fill, then the daemon is refused. */
  pause(): void {
    this.#response.pause();
  }

  resume(): void {
    this.#response.resume();
  }

  /** Breaks off and comes back as a browser does: the same URL, and the last id if there is one. */
  async reconnect(): Promise<void> {
    const lastEventId = this.#parser.lastEventId;
    this.close();
    this.#response = await request(this.#url, lastEventId);
    this.#ended = false;
    this.#parser = this.#listen(this.#response, lastEventId);
  }

  close(): void {
    this.#response.destroy();
  }

  #listen(response: IncomingMessage, lastEventId: string): EventStreamParser {
    const parser = new EventStreamParser((event) => {
      this.events.push(event);
      this.model.apply(event);
      this.names.apply(event);
    }, lastEventId);
    const isStream = response.headers['content-type'] === 'text/event-stream';
    const isCurrent = (): boolean => this.#response === response;
    response.on('data', (chunk: Buffer) => {
      if (!isCurrent()) return;
      if (isStream) parser.feed(chunk);
      this.#look();
    });
    // A connection that breaks off reports an error and then closes; for a consumer both are just the end.
    response.on('error', () => this.#look());
    response.on('close', () => {
      if (!isCurrent()) return;
      this.#ended = true;
      this.#look();
    });
    return parser;
  }

  #look(): void {
    for (const watcher of [...this.#watchers]) watcher();
  }
}

async function request(url: string, lastEventId: string): Promise<IncomingMessage> {
  const resumed = lastEventId !== '' && { 'Last-Event-ID': lastEventId };
  const outgoing = get(url, { headers: { Accept: 'text/event-stream', ...resumed }, agent: false });
  const [response] = (await once(outgoing, 'response')) as [IncomingMessage];
  return response;
}
