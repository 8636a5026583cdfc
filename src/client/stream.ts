// Keeps an event stream open: reads it, detects its loss, and reconnects with the last id. It does not
// interpret events.

import { EventParser, type ParsedEvent } from './parser.js';
import { asProblem, ownProblem, type ProblemError } from './problem.js';
import { problemOf } from './request.js';
import type { Transport } from './transport.js';

/** Proxies and service workers know a stream by this type in the request, and pass it on unbuffered. */
const EVENT_STREAM = 'text/event-stream';
/** The node is asked to send a sign of life after this much silence. The node accepts no smaller value. */
const KEEPALIVE_S = 10;
/** The connection counts as lost after this much silence. */
const SILENCE_MS_MAX = (KEEPALIVE_S + 5) * 1000;
/** The wait before the second attempt, as long as the node has not sent another wait in `retry:`. */
const RETRY_MS = 2000;
const RETRY_MS_MAX = 30_000;
/** The shortest wait, even if the node's `retry:` is shorter. */
const RETRY_MS_MIN = 1000;
/**
 * Only such ids are sent, because `fetch` refuses a request whose header contains certain other characters.
 */
const SENDABLE_ID = /^[!-~]{1,256}$/;

export interface EventStreamOptions {
  readonly transport: Pick<Transport, 'base' | 'fetch' | 'headers'>;
  /** Called before each attempt. */
  readonly query: () => URLSearchParams;
  /**
   * `hasNewId` is true if the id differs from that of the event before. `onEvent` may throw for an event
   * that it does not understand. The stream is then opened again without an id.
   */
  readonly onEvent: (event: ParsedEvent, hasNewId: boolean) => void;
  /** Called after each chunk of bytes, once `onEvent` was called for all events of the chunk. */
  readonly onRead: () => void;
  /** Called at each loss, and at each failed attempt. */
  readonly onLost: (problem: ProblemError) => void;
}

/** The global object. In browsers it has events and a document, in Node it has neither. */
interface MaybeBrowser extends Partial<EventTarget> {
  readonly document?: EventTarget & { readonly visibilityState: string };
}

export class ReconnectingStream {
  readonly #options: EventStreamOptions;
  readonly #closing = new AbortController();
  #lastEventId = '';
  #retryMs = RETRY_MS;
  #failures = 0;
  #receivedAt = 0;
  #attempt = new AbortController();
  /** Ends the wait for the next attempt. */
  #endPause: () => void = () => undefined;
  /** True if the current attempt was aborted so that the next one begins at once. */
  #isRenewing = false;
  /** True if the current attempt has received data. */
  #isOpen = false;

  constructor(options: EventStreamOptions) {
    this.#options = options;
    this.#watchBrowser();
    void this.#run();
  }

  /** Reconnects at once, for example because the query has changed. The node replays the missed events. */
  renew(): void {
    this.#isRenewing = true;
    this.#attempt.abort();
    this.#endPause();
  }

  /** Tries at once, unless the stream is open. */
  retry(): void {
    this.#failures = 0;
    if (!this.#isOpen) this.renew();
  }

  close(): void {
    this.#closing.abort();
    this.#attempt.abort();
    this.#endPause();
  }

  async #run(): Promise<void> {
    while (!this.#isClosed()) {
      const problem = await this.#connect();
      if (this.#isClosed()) return;
      if (this.#isRenewing) continue;
      this.#options.onLost(problem);
      await this.#pause();
    }
  }

  #isClosed(): boolean {
    return this.#closing.signal.aborted;
  }

  /** Resolves with the reason why the stream ended. */
  async #connect(): Promise<ProblemError> {
    const attempt = new AbortController();
    this.#attempt = attempt;
    this.#isRenewing = false;
    let watchdog: ReturnType<typeof setTimeout> | undefined;
    const markAlive = (): void => {
      clearTimeout(watchdog);
      this.#receivedAt = Date.now();
      watchdog = setTimeout(() => attempt.abort(ownProblem('silent')), SILENCE_MS_MAX);
    };
    try {
      markAlive();
      await this.#read(attempt.signal, markAlive);
      return ownProblem('unreachable', 'The stream has ended');
    } catch (error) {
      return asProblem(attempt.signal.reason ?? error);
    } finally {
      this.#isOpen = false;
      clearTimeout(watchdog);
      attempt.abort();
    }
  }

  async #read(signal: AbortSignal, markAlive: () => void): Promise<void> {
    const { transport, onRead } = this.#options;
    const { base, fetch } = transport;
    const id = SENDABLE_ID.test(this.#lastEventId) ? this.#lastEventId : '';
    const query = this.#options.query();
    query.set('snapshot', '1');
    query.set('keepalive', String(KEEPALIVE_S));
    const headers: Record<string, string> = { ...transport.headers, Accept: EVENT_STREAM };
    if (id !== '') headers['Last-Event-ID'] = id;
    const response = await fetch(`${base}/events?${query}`, { signal, headers });
    if (!response.ok) throw await problemOf(response);
    const type = response.headers.get('Content-Type') ?? '';
    if (response.body === null || !type.startsWith(EVENT_STREAM)) throw ownProblem('not-the-service', type);
    const parser = new EventParser(id);
    const decoder = new TextDecoder();
    const reader = response.body.getReader();
    for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
      markAlive();
      this.#isOpen = true;
      this.#failures = 0;
      this.#passOn(parser, decoder.decode(piece.value, { stream: true }));
      this.#retryMs = Math.max(RETRY_MS_MIN, parser.retryMs ?? this.#retryMs);
      onRead();
    }
  }

  /** Passes on the events that `text` completes. */
  #passOn(parser: EventParser, text: string): void {
    try {
      for (const event of parser.feed(text)) {
        this.#options.onEvent(event, parser.lastEventId !== this.#lastEventId);
        this.#lastEventId = parser.lastEventId;
      }
      this.#lastEventId = parser.lastEventId;
    } catch (error) {
      // With the same id, the event that failed would be sent again.
      this.#lastEventId = '';
      throw error;
    }
  }

  /**
   * Waits before the next attempt. The wait doubles with each failure. A random part of it, up to a half, is
   * left out, so that clients do not reconnect together.
   */
  #pause(): Promise<void> {
    const ms = Math.min(RETRY_MS_MAX, this.#retryMs * 2 ** this.#failures) * (1 - Math.random() / 2);
    this.#failures += 1;
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.#endPause = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  #watchBrowser(): void {
    const window = globalThis as MaybeBrowser;
    const { signal } = this.#closing;
    window.addEventListener?.('offline', () => this.#attempt.abort(ownProblem('offline')), { signal });
    window.addEventListener?.('online', () => this.#endPause(), { signal });
    const { document } = window;
    const onVisibility = (): void => {
      if (document?.visibilityState !== 'visible') return;
      // The date is compared, because timers and the monotonic clock may stop while a phone sleeps.
      if (Date.now() - this.#receivedAt > SILENCE_MS_MAX) this.#attempt.abort(ownProblem('silent'));
      this.#endPause();
    };
    document?.addEventListener('visibilitychange', onVisibility, { signal });
  }
}
