// The HTTP server: listens, passes each request on as an exchange, closes. It knows neither routes nor
// backends. Only this file and exchange.ts know uWebSockets.js; how it behaves is in
// docs/development/what-we-learnt.md, "uWebSockets.js".

import './connection-limits.js';
import {
  App,
  type HttpResponse,
  type TemplatedApp,
  type us_listen_socket,
  us_listen_socket_close,
  us_socket_local_port,
} from 'uWebSockets.js';
import type { Clock } from '../clock.js';
import type { ConnectionLimits } from './connection-limits.js';
import { type Connection, Connections, peerOf } from './connections.js';
import { Exchange } from './exchange.js';
import type { ListeningSocket } from './listening.js';

/**
 * The value of uSockets' LIBUS_LISTEN_EXCLUSIVE_PORT. Without it a port that is in use is shared silently.
 */
const EXCLUSIVE_PORT = 1;

/** `listen` with options and a host exists, but the package's types lack it. */
interface ExclusiveListener {
  listen(host: string, port: number, options: number, done: (socket: us_listen_socket | false) => void): void;
}

/**
 * Answers each exchange, now or later. Errors that it throws or rejects with go to `onFault`, which must
 * answer or cut the exchange and may not throw: an exchange that is not answered, cut or waited for ends the
 * process.
 */
export interface ExchangeHandler {
  serve(exchange: Exchange): void | Promise<void>;
  onFault(exchange: Exchange, error: unknown): void;
}

/** Limits the log while there are too many connections for long. */
const LOG_PAUSE_MS = 3_600_000;
/** While there are too many connections, `CLOSED_TOGETHER` of them are closed every `CLOSE_EVERY_MS`. */
const CLOSED_TOGETHER = 8;
const CLOSE_EVERY_MS = 20;

/**
 * Passes every request, whatever its method and path, to `handler`, and closes surplus connections. It does
 * not listen yet. `onFull` is called now and then while there are too many connections, with the peer of one
 * that was closed.
 */
export function createServer(
  handler: ExchangeHandler,
  clock: Clock,
  limits: ConnectionLimits,
  onFull: (peer: string) => void,
) {
  const app: TemplatedApp & ExclusiveListener = App() as TemplatedApp & ExclusiveListener;
  let newest: Exchange | undefined;
  boundConnections(app, limits, onFull, clock, () => newest);

  // A handler that throws, or returns without an answer or an abort handler, ends the process.
  app.any('/*', (response, request) => {
    const exchange = new Exchange(response, request, clock);
    newest = exchange;
    try {
      const later = handler.serve(exchange);
      later?.catch((error: unknown) => handler.onFault(exchange, error));
    } catch (error) {
      handler.onFault(exchange, error);
    }
    exchange.handlerReturned();
  });

  return {
    /** Port 0 means any free port. Undefined if the address cannot be listened on. */
    open: (address: string, port: number): ListeningSocket | undefined => {
      let socket: ListeningSocket | undefined;
      // `listen` calls back before it returns.
      app.listen(address, port, EXCLUSIVE_PORT, (listenSocket) => {
        if (listenSocket === false) return;
        socket = {
          port: us_socket_local_port(listenSocket),
          close: () => us_listen_socket_close(listenSocket),
        };
      });
      return socket;
    },
    /** Cuts every connection. */
    close: (): void => void app.close(),
  };
}

/** An open connection, with the object that closes it. */
interface HttpConnection extends Connection {
  readonly response: HttpResponse;
}

/**
 * Closes the connections that are too many, a few at a time. uWebSockets.js itself closes those that send no
 * request for 10 s. Its filter gets a response object when a connection opens, valid until it closes, and an
 * unrelated one when it has closed; the closed connection is recognized at that moment by its lack of an
 * address.
 */
function boundConnections(
  app: TemplatedApp,
  limits: ConnectionLimits,
  onFull: (peer: string) => void,
  clock: Clock,
  newestExchange: () => Exchange | undefined,
): void {
  const connections = new Connections<HttpConnection>(limits);
  let isClosing = false;
  let isWaiting = false;
  let loggedAt = Number.NEGATIVE_INFINITY;

  /** False if there are not too many. */
  const closeOne = (): boolean => {
    const surplus = connections.surplus();
    if (surplus === undefined) return false;
    isClosing = true;
    surplus.response.close();
    isClosing = false;
    const now = clock.monotonic();
    if (now - loggedAt < LOG_PAUSE_MS) return true;
    loggedAt = now;
    onFull(surplus.peer);
    return true;
  };
  const closeSome = (most: number): void => {
    let closed = 0;
    while (closed < most && closeOne()) closed += 1;
    isWaiting = closed > 0;
    if (isWaiting) clock.after(CLOSE_EVERY_MS, () => closeSome(CLOSED_TOGETHER));
  };
  const opened = (response: HttpResponse): void => {
    connections.arrived(httpConnection(response, newestExchange));
    if (connections.isOverfull) closeOne();
    else if (!isWaiting) closeSome(1);
  };
  /**
   * `change` is 1 when a connection opens and -1 when it closes, also if it is closed from here.
   */
  const changed = (response: HttpResponse, change: number): void => {
    if (change > 0) opened(response);
    else if (!isClosing) connections.left();
  };
  app.filter(changed);
}

/**
 * uWebSockets.js does not tell on which connection a request comes, but a data handler that is set when the
 * connection opens is called right after the handler of its first request. A `POST` sets a data
 * handler of its own: a connection that begins with one counts as silent for its whole life, and is cut if it
 * is the oldest such connection of a peer that has too many.
 */
function httpConnection(response: HttpResponse, newestExchange: () => Exchange | undefined): HttpConnection {
  let hasRequested = false;
  response.onData(() => {
    if (hasRequested) return;
    hasRequested = true;
    if (newestExchange()?.isPeersTurn !== true) return;
    // A data handler has switched the timeout for idle connections off. `resume` sets it, but only after
    // `pause`.
    response.pause();
    response.resume();
  });
  return {
    response,
    peer: peerOf(response.getRemoteAddress()),
    isOpen: () => response.getRemoteAddress().byteLength > 0,
    hasRequested: () => hasRequested,
    // The offset counts the body of an answer, but not what a stream writes, and is 0 again with the next
    // request.
    isIdle: () => response.getWriteOffset() > 0,
  };
}
