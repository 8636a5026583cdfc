// An EventSource for tests, over a real connection. It follows the HTML standard, and shares no code with the
// daemon. Unlike the EventSource of a browser, it can stop reading and break the connection, and it
// reconnects only when the test calls `reconnect`.

import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { DEADLINE_MS } from '../until.js';
import { type DispatchedEvent, EventStreamParser } from './parser.js';
import { NameModel, StateModel } from './state-model.js';

export class EventConsumer {
  /** The events of all connections, in order. */
  readonly events: DispatchedEvent[] = [];
  /** The state that results from the events. */
  readonly model = new StateModel();
  /** The same state for programs that identify records by name. */
  readonly names = new NameModel();
  readonly #url: string;
  #response: IncomingMessage;
  #parser: EventStreamParser;
  #ended = false;
  readonly #checks = new Set<() => void>();

  private constructor(url: string, response: IncomingMessage) {
    this.#url = url;
    this.#response = response;
    this.#parser = this.#listen(response, '');
  }

  /** Resolves when status and headers have arrived. */
  static async open(url: string): Promise<EventConsumer> {
    return new EventConsumer(url, await request(url, ''));
  }

  get status(): number {
    return this.#response.statusCode ?? 0;
  }

  /** True when the current connection has ended, whether it was closed or broken. */
  get ended(): boolean {
    return this.#ended;
  }

  /** The parsed data of the events of one type. */
  dataOf(type: string): readonly unknown[] {
    return this.events.filter((event) => event.type === type).map((event): unknown => JSON.parse(event.data));
  }

  /**
   * Resolves as soon as `isFulfilled` returns true. `isFulfilled` is called at once, after every chunk, and
   * when the connection ends. Rejects if `isFulfilled` throws, or after `deadlineMs`. The error after
   * `deadlineMs` says that `expected` did not come, and has the last events.
   */
  until(isFulfilled: (consumer: this) => boolean, expected = 'it', deadlineMs = DEADLINE_MS): Promise<void> {
    return new Promise((resolve, reject) => {
      const settle = (): void => {
        clearTimeout(deadline);
        this.#checks.delete(check);
      };
      const check = (): void => {
        try {
          if (!isFulfilled(this)) return;
          settle();
          resolve();
        } catch (error) {
          settle();
          reject(error);
        }
      };
      const deadline = setTimeout(() => {
        settle();
        const lastEvents = this.events.slice(-5).map(({ type, data }) => `${type} ${data.slice(0, 200)}`);
        reject(
          new Error(
            `${expected} did not come; ${this.events.length} events, last: ${lastEvents.join(' | ')}`,
          ),
        );
      }, deadlineMs);
      this.#checks.add(check);
      check();
    });
  }

  /** Stops reading. The kernel's buffers fill, and then the kernel takes no more data from the daemon. */
  pause(): void {
    this.#response.pause();
  }

  resume(): void {
    this.#response.resume();
  }

  /**
   * Breaks the connection and reconnects as a browser does: to the same URL, with the last event id if the
   * consumer has one.
   */
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
    const parser = new EventStreamParser(lastEventId);
    const dispatch = (event: DispatchedEvent): void => {
      this.events.push(event);
      this.model.apply(event);
      this.names.apply(event);
    };
    const isStream = response.headers['content-type'] === 'text/event-stream';
    // After a reconnection, the earlier connection may still report its end.
    const isCurrent = (): boolean => this.#response === response;
    response.on('data', (chunk: Buffer) => {
      if (!isCurrent()) return;
      if (isStream) for (const event of parser.read(chunk)) dispatch(event);
      this.#runChecks();
    });
    // A broken connection reports an error, and then closes.
    response.on('error', () => this.#runChecks());
    response.on('close', () => {
      if (!isCurrent()) return;
      this.#ended = true;
      this.#runChecks();
    });
    return parser;
  }

  #runChecks(): void {
    for (const check of [...this.#checks]) check();
  }
}

async function request(url: string, lastEventId: string): Promise<IncomingMessage> {
  const resumption = lastEventId === '' ? {} : { 'Last-Event-ID': lastEventId };
  const outgoing = get(url, { headers: { Accept: 'text/event-stream', ...resumption }, agent: false });
  const [response] = (await once(outgoing, 'response')) as [IncomingMessage];
  return response;
}
