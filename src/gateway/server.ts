// The HTTP server listens, passes each request to a handler as an exchange, and closes surplus connections.
// It knows neither routes nor backends.

// This import must be before the import of uWebSockets.js, because it sets a limit that uWebSockets.js reads.
import './connection-limits.js';
import {
  App,
  type HttpRequest,
  type HttpResponse,
  type TemplatedApp,
  type us_listen_socket,
  us_listen_socket_close,
  us_socket_local_port,
} from 'uWebSockets.js';
import type { Clock } from '../host/clock.js';
import type { ConnectionLimits } from './connection-limits.js';
import { type BoundedConnection, Connections, peerOf } from './connections.js';
import { Exchange } from './exchange.js';
import type { BoundSocket } from './listening.js';

/**
 * The value of uSockets' LIBUS_LISTEN_EXCLUSIVE_PORT. Without this option, uSockets silently shares a port
 * that another program uses.
 */
const EXCLUSIVE_PORT = 1;

/** uWebSockets.js has this form of `listen`, but the package's types lack it. */
interface ExclusiveListener {
  listen(host: string, port: number, options: number, done: (socket: us_listen_socket | false) => void): void;
}

/**
 * `serve` answers an exchange, now or later. `onFault` gets the error that `serve` throws or rejects with.
 * `onFault` must answer or cut the exchange. It must not throw, because its error would end the process.
 */
export interface ExchangeHandler {
  serve(exchange: Exchange): void | Promise<void>;
  onFault(exchange: Exchange, error: unknown): void;
}

/**
 * Loads the binary of uWebSockets.js. Returns undefined if it is loaded, and a message of one line if there
 * is no binary for this machine.
 */
export function whyNoServer(): string | undefined {
  try {
    App();
    return undefined;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ERR_NO_BINARY') return error.message;
    throw error;
  }
}

/** The shortest time between two lines of the log about too many connections. */
const LOG_PAUSE_MS = 3_600_000;
/** While there are too many connections, `CLOSED_TOGETHER` of them are closed every `CLOSE_EVERY_MS`. */
const CLOSED_TOGETHER = 8;
const CLOSE_EVERY_MS = 20;

/** Passes the requests of all methods and paths to `handler`. Listens only after `open`. */
export class HttpServer {
  readonly #app = App() as TemplatedApp & ExclusiveListener;
  readonly #handler: ExchangeHandler;
  readonly #clock: Clock;
  /** The exchange of the request that came last, on any connection (`HttpConnection` needs it). */
  #newestExchange: Exchange | undefined;

  /**
   * While there are too many connections, `onFull` is called at most once an hour. Its argument is the peer
   * (`peerOf`) of a connection that was closed.
   */
  constructor(
    handler: ExchangeHandler,
    clock: Clock,
    limits: ConnectionLimits,
    onFull: (peer: string) => void,
  ) {
    this.#handler = handler;
    this.#clock = clock;
    const closer = new SurplusCloser(limits, clock, onFull, () => this.#newestExchange);
    this.#app.filter((response, countChange) => closer.connectionChanged(response, Number(countChange)));
    this.#app.any('/*', (response, request) => this.#serve(response, request));
  }

  /** Port 0 means any free port. Undefined if the address cannot be listened on. */
  open(address: string, port: number): BoundSocket | undefined {
    let socket: BoundSocket | undefined;
    // `listen` calls back before it returns.
    this.#app.listen(address, port, EXCLUSIVE_PORT, (listenSocket) => {
      if (listenSocket === false) return;
      socket = {
        port: us_socket_local_port(listenSocket),
        close: () => us_listen_socket_close(listenSocket),
      };
    });
    return socket;
  }

  /** Closes the listening sockets, and cuts every connection. */
  close(): void {
    this.#app.close();
  }

  /** An error that is not caught here would end the process. */
  #serve(response: HttpResponse, request: HttpRequest): void {
    const handler = this.#handler;
    const exchange = new Exchange(response, request, this.#clock);
    this.#newestExchange = exchange;
    try {
      const later = handler.serve(exchange);
      later?.catch((error: unknown) => handler.onFault(exchange, error));
    } catch (error) {
      handler.onFault(exchange, error);
    }
    // This sets an abort handler, without which a pending exchange would end the process.
    exchange.handlerReturned();
  }
}

/**
 * Closes surplus connections, a few at a time. uWebSockets.js itself closes only a connection that sends no
 * request for 8 to 12 s.
 */
class SurplusCloser {
  readonly #connections: Connections<HttpConnection>;
  readonly #clock: Clock;
  readonly #onFull: (peer: string) => void;
  readonly #newestExchange: () => Exchange | undefined;
  /**
   * True while this object closes a connection. uWebSockets.js then calls `connectionChanged`, which does
   * nothing, because `takeSurplus` has already removed the connection from `#connections`.
   */
  #isClosingOne = false;
  /** True while a timer is set. The timer closes more connections. */
  #isTimerSet = false;
  #loggedAt = Number.NEGATIVE_INFINITY;

  constructor(
    limits: ConnectionLimits,
    clock: Clock,
    onFull: (peer: string) => void,
    newestExchange: () => Exchange | undefined,
  ) {
    this.#connections = new Connections(limits);
    this.#clock = clock;
    this.#onFull = onFull;
    this.#newestExchange = newestExchange;
  }

  /**
   * There are two values of `countChange`:
   * - `1`: a connection has opened. `response` is valid until the connection closes.
   * - `-1`: a connection has closed. This object may have closed it. `response` does not say which connection
   *   it is, so `removeClosed` searches `#connections` for one that has no address any more.
   */
  connectionChanged(response: HttpResponse, countChange: number): void {
    if (countChange > 0) this.#addConnection(response);
    else if (!this.#isClosingOne) this.#connections.removeClosed();
  }

  #addConnection(response: HttpResponse): void {
    this.#connections.add(new HttpConnection(response, this.#newestExchange));
    // There are three cases:
    // - The spare connections (connection-limits.ts) are used up. The timer would be too late, so one
    //   connection is closed at once.
    // - A timer is set. It will close the surplus connections.
    // - No timer is set. If there are too many connections, `#closeSome` closes one, and sets the timer.
    if (this.#connections.isOverfull) this.#closeOne();
    else if (!this.#isTimerSet) this.#closeSome(1);
  }

  #closeSome(max: number): void {
    let closed = 0;
    while (closed < max && this.#closeOne()) closed += 1;
    this.#isTimerSet = closed > 0;
    if (this.#isTimerSet) this.#clock.after(CLOSE_EVERY_MS, () => this.#closeSome(CLOSED_TOGETHER));
  }

  /** Closes one connection if there are too many. Returns true if it has closed one. */
  #closeOne(): boolean {
    const surplus = this.#connections.takeSurplus();
    if (surplus === undefined) return false;
    this.#isClosingOne = true;
    surplus.close();
    this.#isClosingOne = false;
    this.#reportFull(surplus.peer);
    return true;
  }

  #reportFull(peer: string): void {
    const now = this.#clock.monotonic();
    if (now - this.#loggedAt < LOG_PAUSE_MS) return;
    this.#loggedAt = now;
    this.#onFull(peer);
  }
}

/**
 * Finds out whether the connection has sent a request. uWebSockets.js does not say on which connection a
 * request comes. So a data handler is set when the connection opens. uWebSockets.js calls it right after the
 * handler of the connection's first request.
 *
 * If the first request is a `POST`, its exchange replaces the data handler. The connection then counts for
 * its whole life as one that has sent no request. If there are too many connections, it is among the first
 * to be closed.
 */
class HttpConnection implements BoundedConnection {
  readonly peer: string;
  readonly #response: HttpResponse;
  #hasRequested = false;

  constructor(response: HttpResponse, newestExchange: () => Exchange | undefined) {
    this.peer = peerOf(response.getRemoteAddress());
    this.#response = response;
    response.onData(() => this.#noteRequest(newestExchange));
  }

  isOpen(): boolean {
    return this.#response.getRemoteAddress().byteLength > 0;
  }

  isKnownToHaveRequested(): boolean {
    return this.#hasRequested;
  }

  /**
   * True after an answer with a body. The write offset counts the bytes of the body, but not the texts of a
   * stream, and is 0 again when the next request comes. After an answer without a body (304, 204, HEAD) the
   * offset stays 0, so the connection does not count as idle.
   */
  isIdle(): boolean {
    return this.#response.getWriteOffset() > 0;
  }

  close(): void {
    this.#response.close();
  }

  #noteRequest(newestExchange: () => Exchange | undefined): void {
    if (this.#hasRequested) return;
    this.#hasRequested = true;
    // The handler of the first request has just returned, so the newest exchange belongs to this connection.
    const isPeersTurn = newestExchange()?.isPeersTurn === true;
    // uWebSockets.js has a timeout that closes idle connections. The data handler has switched it off for
    // this connection. The timeout is needed only if the peer must act next.
    if (!isPeersTurn) return;
    // `resume` switches the timeout on again, but only after `pause`.
    this.#response.pause();
    this.#response.resume();
  }
}
