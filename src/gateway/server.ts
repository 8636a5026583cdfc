// The HTTP server: listens, hands each request over as an exchange, closes. It knows neither routes nor backends.
// With exchange.ts the only file that knows uWebSockets.js.

import {
  App,
  type TemplatedApp,
  type us_listen_socket,
  us_listen_socket_close,
  us_socket_local_port,
} from 'uWebSockets.js';
import { Exchange } from './exchange.js';

/** How long answers that are under way may still take when the server closes. */
const CLOSE_DEADLINE_MS = 2000;
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
  /** Waits for the answers under way, within a deadline, then cuts every connection. */
  close(): Promise<void>;
}

/** Answers each exchange, now or later. What it throws or rejects with goes to `onFault`, which must answer instead. */
export interface ExchangeHandler {
  serve(exchange: Exchange): void | Promise<void>;
  onFault(exchange: Exchange, error: unknown): void;
}

export function createServer(handler: ExchangeHandler): HttpServer {
  const app: TemplatedApp & ExclusiveListener = App() as TemplatedApp & ExclusiveListener;
  const sockets: us_listen_socket[] = [];
  const pending = new PendingCount();

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
    close: async () => {
      stopListening();
      await pending.none(CLOSE_DEADLINE_MS);
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

/** Counts the exchanges whose answers are still to come. */
class PendingCount {
  #count = 0;
  #onNone: (() => void) | undefined;

  up(): void {
    this.#count += 1;
  }

  down(): void {
    this.#count -= 1;
    if (this.#count === 0) this.#onNone?.();
  }

  /** Resolves when nothing is pending, at the latest after `deadlineMs`. */
  none(deadlineMs: number): Promise<void> {
    if (this.#count === 0) return Promise.resolve();
    return new Promise((resolve) => {
      const deadline = setTimeout(resolve, deadlineMs);
      this.#onNone = () => {
        clearTimeout(deadline);
        resolve();
      };
    });
  }
}
