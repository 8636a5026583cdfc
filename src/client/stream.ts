// Keeps an event stream open: decides when it is lost, and when it is opened again. This file does not
// interpret events.

import { EventParser, type ParsedEvent } from './parser.js';
import { asProblem, ownProblem, type ProblemError } from './problem.js';
import { problemOf } from './request.js';
import type { Transport } from './transport.js';

/** Some proxies and service workers recognize a stream by this type in `Accept`, and do not buffer it. */
const EVENT_STREAM = 'text/event-stream';
/** The node sends a sign of life after this much silence. It accepts no smaller value. */
const KEEPALIVE_S = 10;
/** The connection counts as lost after this much silence. A sign of life may be 5 s late. */
const SILENCE_MAX_MS = (KEEPALIVE_S + 5) * 1000;
/** The longest wait after the first failure. A `retry:` of the node replaces this value. */
const RETRY_MS = 2000;
/** The longest wait after further failures. */
const RETRY_MAX_MS = 30_000;
/** A shorter `retry:` of the node counts as this. */
const RETRY_MIN_MS = 1000;
/**
 * Only ids of printable ASCII characters without spaces are sent to the node, because `fetch` refuses some
 * other characters in a header. The node's own ids, such as `mwt7vl6goabn56-437`, are much shorter than 256
 * characters.
 */
const SENDABLE_ID = /^[!-~]{1,256}$/;

export interface EventStreamOptions {
  readonly transport: Pick<Transport, 'base' | 'fetch' | 'headers'>;
  /** Called before each attempt. */
  readonly query: () => URLSearchParams;
  /**
   * Called when a stream begins, with the header `Date` in milliseconds since the epoch, or with NaN if
   * there is no such header.
   */
  readonly onAnswer?: (sentAtMs: number) => void;
  /**
   * `hasNewId` is true if the event has an id that differs from the last id. If `onEvent` throws, the stream
   * is opened again without the header `Last-Event-ID`.
   */
  readonly onEvent: (event: ParsedEvent, hasNewId: boolean) => void;
  /** Called after each piece of the response, when `onEvent` has been called for all its events. */
  readonly onRead: () => void;
  /** Called at each loss, and at each failed attempt. */
  readonly onLost: (problem: ProblemError) => void;
}

/** The global object. It has events and a document only in browsers. */
interface MaybeBrowser extends Partial<EventTarget> {
  readonly document?: EventTarget & { readonly visibilityState: string };
}

export class ReconnectingStream {
  readonly #options: EventStreamOptions;
  readonly #closeController = new AbortController();
  #lastEventId = '';
  #retryMs = RETRY_MS;
  /** The longest wait before the next attempt; 0 while the stream is open. */
  #waitMs = RETRY_MS;
  /** The time when the attempt began, or when its last bytes arrived. */
  #receivedAtMs = 0;
  #attemptController = new AbortController();
  /** Ends the wait for the next attempt. */
  #endPause: () => void = () => undefined;
  /** True if the next attempt must begin at once, and the end of the current one is no loss. */
  #isRenewing = false;

  constructor(options: EventStreamOptions) {
    this.#options = options;
    this.#watchBrowser();
    void this.#run();
  }

  /**
   * Reconnects at once, for example because the query has changed. No change is lost, because the node then
   * sends all that the client has missed.
   */
  renew(): void {
    this.#waitMs = this.#retryMs;
    this.#isRenewing = true;
    this.#attemptController.abort();
    this.#endPause();
  }

  /**
   * If the stream is not open, the next attempt begins at once. But if `onLost` calls `retry` after a failed
   * attempt, a pause still comes before the next attempt.
   */
  retry(): void {
    if (this.#waitMs > 0) this.renew();
  }

  close(): void {
    this.#closeController.abort();
    // This ends the attempt or the wait. No other attempt follows, because the stream is closed.
    this.renew();
  }

  async #run(): Promise<void> {
    while (!this.#isClosed()) {
      const beganMs = Date.now();
      const problem = await this.#connect();
      if (this.#isRenewing) continue;
      // A stream that ends soon after its attempt began counts as a failed attempt, because some proxies end
      // each stream at once.
      const wasOpen = this.#waitMs === 0 && Date.now() - beganMs > this.#retryMs;
      this.#waitMs ||= this.#retryMs;
      this.#options.onLost(problem);
      // If `onLost` has called `retry` after the loss of an open stream, the next attempt begins at once.
      // After a failed attempt, a pause still comes first. Otherwise a program that calls `retry` at each
      // failure would cause attempts without any pause.
      if (!this.#isClosed() && !(wasOpen && this.#isRenewing)) await this.#pause();
    }
  }

  #isClosed(): boolean {
    return this.#closeController.signal.aborted;
  }

  /** Resolves with the reason why the attempt failed, or why the stream ended. */
  async #connect(): Promise<ProblemError> {
    const attempt = new AbortController();
    this.#attemptController = attempt;
    this.#isRenewing = false;
    let watchdog: ReturnType<typeof setTimeout> | undefined;
    const markAlive = (): void => {
      clearTimeout(watchdog);
      this.#receivedAtMs = Date.now();
      watchdog = setTimeout(() => attempt.abort(ownProblem('silent')), SILENCE_MAX_MS);
    };
    try {
      markAlive();
      await this.#read(attempt.signal, markAlive);
      return ownProblem('unreachable', 'The stream has ended');
    } catch (error) {
      return asProblem(attempt.signal.reason ?? error);
    } finally {
      clearTimeout(watchdog);
      // This closes the connection, which is still open if `onEvent` has thrown.
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
    const isStream = response.headers.get('Content-Type')?.startsWith(EVENT_STREAM);
    if (response.body === null || !response.ok || !isStream) throw await problemOf(response);
    this.#options.onAnswer?.(Date.parse(response.headers.get('Date') ?? ''));
    const parser = new EventParser(id);
    const decoder = new TextDecoder();
    const reader = response.body.getReader();
    for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
      markAlive();
      this.#waitMs = 0;
      this.#passOn(parser, decoder.decode(piece.value, { stream: true }));
      this.#retryMs = Math.max(RETRY_MIN_MS, parser.retryMs ?? this.#retryMs);
      onRead();
    }
  }

  /** Passes on the events that `text` completes. */
  #passOn(parser: EventParser, text: string): void {
    try {
      for (const event of parser.feed(text)) {
        this.#options.onEvent(event, parser.lastEventId !== this.#lastEventId);
        this.#lastEventId = parser.lastEventId;
        if (this.#isClosed()) return;
      }
      // The parser yields no event without data, but the id of such an event counts, too.
      this.#lastEventId = parser.lastEventId;
    } catch (error) {
      // With the last id, the node would send the same event again, and `onEvent` would throw again.
      this.#lastEventId = '';
      throw error;
    }
  }

  /**
   * The longest wait doubles with each failure. The pause is a random time between half of this wait and the
   * whole, so that clients do not reconnect at the same moment.
   */
  #pause(): Promise<void> {
    const ms = Math.min(RETRY_MAX_MS, this.#waitMs) * (1 - Math.random() / 2);
    this.#waitMs *= 2;
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
    const untilClosed = { signal: this.#closeController.signal };
    window.addEventListener?.(
      'offline',
      () => this.#attemptController.abort(ownProblem('offline')),
      untilClosed,
    );
    window.addEventListener?.('online', () => this.#endPause(), untilClosed);
    const { document } = window;
    const onVisibilityChange = (): void => {
      if (document?.visibilityState !== 'visible') return;
      // The date is compared, because timers and the monotonic clock may stop while a phone sleeps.
      if (Date.now() - this.#receivedAtMs > SILENCE_MAX_MS)
        this.#attemptController.abort(ownProblem('silent'));
      this.#endPause();
    };
    document?.addEventListener('visibilitychange', onVisibilityChange, untilClosed);
  }
}
