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
import type { ConnectionCount } from './connection-limits.js';
import type { Schedule } from './events/keepalive.js';
import { Exchange } from './exchange.js';
import { PendingCount } from './pending-count.js';

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

export type ListenResult =
  | { readonly ok: true; readonly port: number }
  /** `address` cannot be listened on: taken, or not of this machine. */
  | { readonly ok: false; readonly address: string };

export interface HttpServer {
  /** All addresses or none. Port 0 takes a free one, the same for all. */
  listen(addresses: readonly string[], port: number): ListenResult;
  /** No new connection is taken from now on; those that are open still are served. */
  stopListening(): void;
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
 * Hands every request, whatever its method and path, to `handler`, and closes the connections that `connections` will not
 * have. It does not listen yet.
 */
export function createServer(
  handler: ExchangeHandler,
  schedule: Schedule,
  connections: ConnectionCount,
): HttpServer {
  const app: TemplatedApp & ExclusiveListener = App() as TemplatedApp & ExclusiveListener;
  const sockets: us_listen_socket[] = [];
  const pending = new PendingCount();

  /** `change` is 1 for a connection that was opened, and -1 when it is closed, also from here (measured). */
  const admit = (response: HttpResponse, change: number): void => {
    if (change < 0) connections.closed();
    else if (!connections.opened()) response.close();
  };
  app.filter(admit);

  const onSettled = (): void => pending.down();
  // A handler that throws, or returns without an answer or an abort handler, ends the process (measured).
  app.any('/*', (response, request) => {
    const exchange = new Exchange(response, request, onSettled);
    try {
      const later = handler.serve(exchange);
      later?.catch((error: unknown) => handler.onFault(exchange, error));
    } catch (error) {
      handler.onFault(exchange, error);
    }
    if (exchange.outliveHandler()) pending.up();
  });

  const stopListening = (): void => {
    for (const socket of sockets.splice(0)) us_listen_socket_close(socket);
  };

  return {
    listen: (addresses, port) => {
      let bound = port;
      for (const address of addresses) {
        const socket = listenOn(app, address, bound);
        if (socket === undefined) {
          stopListening();
          return { ok: false, address };
        }
        sockets.push(socket);
        bound = us_socket_local_port(socket);
      }
      return { ok: true, port: bound };
    },
    stopListening,
    close: async (withinMs) => {
      stopListening();
      await pending.none(withinMs, schedule);
      app.close();
    },
  };
}

function listenOn(app: ExclusiveListener, address: string, port: number): us_listen_socket | undefined {
  let bound: us_listen_socket | undefined;
  // The callback runs before `listen` returns.
  app.listen(address, port, EXCLUSIVE_PORT, (socket) => {
    if (socket !== false) bound = socket;
  });
  return bound;
}
