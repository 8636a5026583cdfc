// One event stream after another, for as long as it is wanted: reads, notices when it is lost, and comes back with the last id.
// What the events mean is not its business.

import { EventParser, type ParsedEvent } from './parser.js';
import { asProblem, ownProblem, type ProblemError, problemOf } from './problem.js';

/** What is asked of the node: it breaks each silence of so many seconds. The least that it takes. */
const KEEPALIVE_S = 10;
/** Without a byte for so long, the connection is lost. */
const SILENCE_MS_MAX = (KEEPALIVE_S + 5) * 1000;
/** Until the node has said what it wishes. */
const RETRY_MS = 2000;
const RETRY_MS_MAX = 30_000;
/** Whatever the node wishes. */
const RETRY_MS_MIN = 1000;
/** Ids that a header takes. With any other no attempt would come through. */
const SENDABLE = /^[!-~]{1,256}$/;

export interface EventStreamOptions {
  readonly fetch: typeof globalThis.fetch;
  readonly url: string;
  /** Asked at each attempt. */
  readonly query: () => URLSearchParams;
  /** Throws: the stream cannot be understood, and is begun anew without an id. */
  readonly onEvent: (event: ParsedEvent) => void;
  /** All that has come so far has been handed over. `whole`: it is no part of a snapshot whose rest is still to come. */
  readonly onRead: (whole: boolean) => void;
  /** Once at each loss, and at each attempt that fails. */
  readonly onLost: (problem: ProblemError) => void;
}

/** Each backend's part of a snapshot begins with one. */
function isSnapshotMark({ type, data }: ParsedEvent): boolean {
  return type === 'backend.updated' && /"detail":\s*"snapshot"/.test(data);
}

/** What browsers tell of themselves, and Node does not. */
interface Surroundings {
  addEventListener?(
    type: 'online' | 'offline',
    listener: () => void,
    options: { readonly signal: AbortSignal },
  ): void;
  readonly document?: {
    readonly visibilityState: string;
    addEventListener(
      type: 'visibilitychange',
      listener: () => void,
      options: { readonly signal: AbortSignal },
    ): void;
  };
}

export class ReconnectingStream {
  readonly #options: EventStreamOptions;
  readonly #closing = new AbortController();
  #lastEventId = '';
  #retryMs = RETRY_MS;
  #failures = 0;
  #heardAt = 0;
  #attempt = new AbortController();
  /** Ends the wait for the next attempt. */
  #hurry: () => void = () => undefined;
  /** A snapshot has begun, and only its last event has an id. */
  #isPartOfSnapshot = false;
  /** The attempt under way is given up for one with another query. */
  #renewing = false;
  /** The attempt under way has been answered. */
  #isOpen = false;

  constructor(options: EventStreamOptions) {
    this.#options = options;
    this.#watchSurroundings();
    void this.#run();
  }

  /** Asks again, as the query is another one now; what is missed meanwhile is replayed. */
  renew(): void {
    this.#renewing = true;
    this.#attempt.abort();
    this.#hurry();
  }

  /** Now, unless there is a stream. */
  retry(): void {
    this.#failures = 0;
    if (!this.#isOpen) this.renew();
  }

  close(): void {
    this.#closing.abort();
    this.#attempt.abort();
    this.#hurry();
  }

  async #run(): Promise<void> {
    while (!this.#isClosed()) {
      const problem = await this.#connect();
      if (this.#isClosed()) return;
      if (this.#renewing) continue;
      this.#options.onLost(problem);
      await this.#pause();
    }
  }

  #isClosed(): boolean {
    return this.#closing.signal.aborted;
  }

  /** Resolves with why it has ended. */
  async #connect(): Promise<ProblemError> {
    const attempt = new AbortController();
    this.#attempt = attempt;
    this.#renewing = false;
    let watchdog: ReturnType<typeof setTimeout> | undefined;
    const heard = (): void => {
      clearTimeout(watchdog);
      this.#heardAt = Date.now();
      watchdog = setTimeout(() => attempt.abort(ownProblem('silent')), SILENCE_MS_MAX);
    };
    try {
      heard();
      await this.#read(attempt.signal, heard);
      return ownProblem('unreachable', 'The stream has ended');
    } catch (error) {
      return asProblem(attempt.signal.reason ?? error);
    } finally {
      this.#isOpen = false;
      clearTimeout(watchdog);
      attempt.abort();
    }
  }

  async #read(signal: AbortSignal, heard: () => void): Promise<void> {
    const { fetch, url, onRead } = this.#options;
    const id = SENDABLE.test(this.#lastEventId) ? this.#lastEventId : '';
    const query = this.#options.query();
    query.set('snapshot', '1');
    query.set('keepalive', String(KEEPALIVE_S));
    const headers: Record<string, string> = id === '' ? {} : { 'Last-Event-ID': id };
    const response = await fetch(`${url}?${query}`, { signal, headers });
    if (!response.ok) throw await problemOf(response);
    const type = response.headers.get('Content-Type') ?? '';
    if (response.body === null || !type.startsWith('text/event-stream'))
      throw ownProblem('not-the-service', type);
    const parser = new EventParser(id);
    this.#isPartOfSnapshot = false;
    const decoder = new TextDecoder();
    const reader = response.body.getReader();
    for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
      heard();
      this.#isOpen = true;
      this.#failures = 0;
      this.#take(parser, decoder.decode(piece.value, { stream: true }));
      this.#retryMs = Math.max(RETRY_MS_MIN, parser.retryMs ?? this.#retryMs);
      onRead(!this.#isPartOfSnapshot);
    }
  }

  #take(parser: EventParser, text: string): void {
    try {
      for (const event of parser.feed(text)) {
        this.#options.onEvent(event);
        if (parser.lastEventId !== this.#lastEventId) this.#isPartOfSnapshot = false;
        else if (isSnapshotMark(event)) this.#isPartOfSnapshot = true;
        this.#lastEventId = parser.lastEventId;
      }
      this.#lastEventId = parser.lastEventId;
    } catch (error) {
      // What cannot be taken in would come again.
      this.#lastEventId = '';
      throw error;
    }
  }

  /** Longer after each failure, and never the same for two clients. */
  #pause(): Promise<void> {
    const ms = Math.min(RETRY_MS_MAX, this.#retryMs * 2 ** this.#failures) * (1 - Math.random() / 2);
    this.#failures += 1;
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.#hurry = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  #watchSurroundings(): void {
    const page = globalThis as Surroundings;
    const { signal } = this.#closing;
    page.addEventListener?.('offline', () => this.#attempt.abort(ownProblem('offline')), { signal });
    page.addEventListener?.('online', () => this.#hurry(), { signal });
    // Timers stand still while a phone sleeps, and so may the monotonic clock: it is the date that goes on.
    const { document } = page;
    document?.addEventListener(
      'visibilitychange',
      () => {
        if (document.visibilityState !== 'visible') return;
        if (Date.now() - this.#heardAt > SILENCE_MS_MAX) this.#attempt.abort(ownProblem('silent'));
        this.#hurry();
      },
      { signal },
    );
  }
}
