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
import { ConnectionShares, peerOf } from './connection-limits.js';
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
 * A crowd comes back as it is closed, and as fast as it is closed. Closed as they come, a thousand of them kept accept(2) from ever
 * running dry, up to 3500 times in one turn of the loop, while others waited for theirs (measured).
 */
const ADMIT_EVERY_MS = 20;
const ADMITTED_TOGETHER = 8;

export interface ConnectionRules {
  readonly max: number;
  /** How many more may be open, until they are let in a few at a time. They are served meanwhile. */
  readonly waiting: number;
  /** Once in each spell of too many, with the peer that has most. */
  readonly onFull: (most: string) => void;
}

/** A connection that is open. */
interface HttpConnection {
  readonly response: HttpResponse;
  readonly address: string;
  /** Its first request has been read. Not known of one with a body. */
  hasAsked: boolean;
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
  admitTo(app, connections, clock);

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
 * Lets connections in and closes those that are too many. uWebSockets.js hands over a response when a connection opens, which
 * stays good until it closes, and another when it has closed, of which nothing is known but how much its last answer wrote: to
 * know which one it was, the open ones are asked whether they still have an address (all measured). That is a system call each,
 * so the search begins where the last one ended.
 */
function admitTo(app: TemplatedApp, { max, waiting, onFull }: ConnectionRules, clock: Clock): void {
  // An answer with a body has been written in full, and no request has come since. Without one that is not known, and a stream
  // that came later looks the same, so only what has never asked is silent then.
  const isSilent = ({ response, hasAsked }: HttpConnection): boolean =>
    !hasAsked || response.getWriteOffset() > 0;
  const shares = new ConnectionShares<HttpConnection>(max, isSilent, onFull);
  let isClosing = false;
  let isTimed = false;

  const admit = (): void => {
    const giver = shares.admit();
    isClosing = true;
    giver?.response.close();
    isClosing = false;
  };
  const admitSome = (): void => {
    for (let count = 0; count < ADMITTED_TOGETHER; count += 1) admit();
    isTimed = shares.waiting > 0;
    if (isTimed) clock.after(ADMIT_EVERY_MS, admitSome);
  };
  const enter = (response: HttpResponse): void => {
    const address = response.getRemoteAddress();
    const connection: HttpConnection = { response, address: textOf(address), hasAsked: false };
    // Called behind the handler of its first request, unless that handler wants the body itself (measured).
    response.onData(() => {
      connection.hasAsked = true;
    });
    shares.arrived(connection, peerOf(address));
    if (!shares.isFull || shares.waiting > waiting) admit();
    if (isTimed || shares.waiting === 0) return;
    isTimed = true;
    clock.after(ADMIT_EVERY_MS, admitSome);
  };
  const leave = (closed: HttpResponse): void => {
    const written = closed.getWriteOffset();
    shares.left(
      ({ response, address }) =>
        response.getWriteOffset() === written && textOf(response.getRemoteAddress()) !== address,
    );
  };
  /** `change` is 1 for a connection that was opened, and -1 when it is closed, also from here (measured). */
  const onChange = (response: HttpResponse, change: number): void => {
    if (change > 0) enter(response);
    else if (!isClosing) leave(response);
  };
  app.filter(onChange);
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
