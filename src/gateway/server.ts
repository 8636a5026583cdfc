// The HTTP server: listens, hands each request over as an exchange, closes. It knows neither routes nor backends.
// With exchange.ts the only file that knows uWebSockets.js.

import './header-limit.js';
import {
  App,
  type HttpResponse,
  type TemplatedApp,
  type us_listen_socket,
  us_listen_socket_close,
  us_socket_local_port,
} from 'uWebSockets.js';
import type { Clock } from '../clock.js';
import { type Connection, type ConnectionLimits, Connections, nameOf } from './connection-limits.js';
import { Exchange } from './exchange.js';
import type { ListeningSocket } from './listening.js';
import { PendingCount } from './shutdown.js';

/** The value of uSockets' LIBUS_LISTEN_EXCLUSIVE_PORT. Without it a taken port is shared silently (measured). */
const EXCLUSIVE_PORT = 1;

/** `listen` with options and a host exists, but is missing from the package's types. */
interface ExclusiveListener {
  listen(
    host: string,
    port: number,
    options: number,
    done: (socket: us_listen_socket | false) => void,
  ): unknown;
}

export interface HttpServer {
  /** Port 0 takes a free one. Undefined: the address cannot be listened on. */
  open(address: string, port: number): ListeningSocket | undefined;
  /** Listens no more, waits at most `withinMs` for the answers under way, then cuts every connection. Never rejects. */
  close(withinMs: number): Promise<void>;
}

/**
 * Answers each exchange, now or later. What it throws or rejects with goes to `onFault`, which must answer or cut instead
 * and may not throw: an exchange that is neither answered, cut nor waited for ends the process.
 */
export interface ExchangeHandler {
  serve(exchange: Exchange): void | Promise<void>;
  onFault(exchange: Exchange, error: unknown): void;
}

/**
 * A crowd comes back as fast as it is closed. Closed as they come, a thousand of them kept the main thread busy with nothing else
 * (measured).
 */
const CLOSE_EVERY_MS = 20;
const CLOSED_TOGETHER = 8;
/** A crowd that stays fills no log. */
const TOLD_EVERY_MS = 3_600_000;

export interface ConnectionRules {
  readonly limits: Omit<ConnectionLimits, 'streams'>;
  /** Now and then while there are too many connections, with the address of one that gave way. */
  readonly onFull: (address: string) => void;
}

/** A connection that is open. */
interface HttpConnection extends Connection {
  readonly response: HttpResponse;
}

/**
 * Hands every request, whatever its method and path, to `handler`, and closes the connections that are too many. It does not
 * listen yet.
 */
export function createServer(
  handler: ExchangeHandler,
  clock: Clock,
  connections: ConnectionRules,
): HttpServer {
  const app: TemplatedApp & ExclusiveListener = App() as TemplatedApp & ExclusiveListener;
  const sockets = new Set<ListeningSocket>();
  const pending = new PendingCount();
  boundConnections(app, connections, clock);

  const onSettled = (): void => pending.down();
  // A handler that throws, or returns without an answer or an abort handler, ends the process (measured).
  app.any('/*', (response, request) => {
    const exchange = new Exchange(response, request, clock, onSettled);
    try {
      const later = handler.serve(exchange);
      later?.catch((error: unknown) => handler.onFault(exchange, error));
    } catch (error) {
      handler.onFault(exchange, error);
    }
    if (exchange.handlerReturned()) pending.up();
  });

  return {
    open: (address, port) => {
      const held = listenOn(app, address, port);
      if (held === undefined) return undefined;
      const socket: ListeningSocket = {
        port: us_socket_local_port(held),
        close: () => {
          // Once: it is freed.
          if (sockets.delete(socket)) us_listen_socket_close(held);
        },
      };
      sockets.add(socket);
      return socket;
    },
    close: async (withinMs) => {
      for (const socket of sockets) socket.close();
      await pending.none(withinMs, clock);
      app.close();
    },
  };
}

/**
 * Closes the connections that are too many. Those that never ask are closed by uWebSockets.js after 10 s. It hands over a response when a
 * connection opens, which stays good until it closes, and another when it has closed, of which nothing is known: which one it was is
 * seen at that moment, as it has no address any more (all measured).
 */
function boundConnections(app: TemplatedApp, { limits, onFull }: ConnectionRules, clock: Clock): void {
  const connections = new Connections<HttpConnection>(limits);
  let isClosing = false;
  let isTimed = false;
  let toldAt = Number.NEGATIVE_INFINITY;

  /** False: there are not too many. */
  const closeOne = (): boolean => {
    const giver = connections.giver();
    if (giver === undefined) return false;
    isClosing = true;
    giver.response.close();
    isClosing = false;
    const now = clock.monotonic();
    if (now - toldAt >= TOLD_EVERY_MS) {
      toldAt = now;
      onFull(giver.address);
    }
    return true;
  };
  const closeSome = (most: number): void => {
    let closed = 0;
    while (closed < most && closeOne()) closed += 1;
    isTimed = closed > 0;
    if (isTimed) clock.after(CLOSE_EVERY_MS, () => closeSome(CLOSED_TOGETHER));
  };
  const opened = (response: HttpResponse): void => {
    const bytes = response.getRemoteAddress();
    const text = textOf(bytes);
    let hasAsked = false;
    // Called behind the handler of its first request, unless that handler wants the body itself (measured).
    response.onData(() => {
      hasAsked = true;
    });
    connections.arrived({
      response,
      address: nameOf(bytes),
      isOpen: () => textOf(response.getRemoteAddress()) === text,
      // An answer with a body has been written in full, and no request has come since. Without one that is not known, and a stream
      // that came later looks the same, so only what has never asked is silent then.
      isSilent: () => !hasAsked || response.getWriteOffset() > 0,
    });
    if (connections.isOverfull) closeOne();
    else if (!isTimed) closeSome(1);
  };
  /** `change` is 1 for a connection that was opened, and -1 when it is closed, also from here (measured). */
  const changed = (response: HttpResponse, change: number): void => {
    if (change > 0) opened(response);
    else if (!isClosing) connections.left();
  };
  app.filter(changed);
}

/** One character per byte; '' of a connection that is closed. */
function textOf(address: ArrayBuffer): string {
  return Buffer.from(address).toString('latin1');
}

function listenOn(app: ExclusiveListener, address: string, port: number): us_listen_socket | undefined {
  let bound: us_listen_socket | undefined;
  // The callback runs before `listen` returns.
  app.listen(address, port, EXCLUSIVE_PORT, (socket) => {
    if (socket !== false) bound = socket;
  });
  return bound;
}
