// The HTTP server: listens, passes each request on as an exchange, closes. It knows neither routes nor backends.
// Only this file and exchange.ts know uWebSockets.js.

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
import { Exchange } from './exchange.js';
import type { ListeningSocket } from './listening.js';

/** The value of uSockets' LIBUS_LISTEN_EXCLUSIVE_PORT. Without it a port that is in use is shared silently (measured). */
const EXCLUSIVE_PORT = 1;

/** `listen` with options and a host exists, but the package's types lack it. */
interface ExclusiveListener {
  listen(host: string, port: number, options: number, done: (socket: us_listen_socket | false) => void): void;
}

/**
 * Answers each exchange, now or later. Errors that it throws or rejects with go to `onFault`, which must answer or cut the exchange
 * and may not throw: an exchange that is not answered, cut or waited for ends the process.
 */
export interface ExchangeHandler {
  serve(exchange: Exchange): void | Promise<void>;
  onFault(exchange: Exchange, error: unknown): void;
}

/** Limits the log while there are too many connections for long. */
const LOG_PAUSE_MS = 3_600_000;

/**
 * Passes every request, whatever its method and path, to `handler`, and closes surplus connections. It does not listen yet. `onFull` is
 * called now and then while there are too many connections, with the address of one that was refused.
 */
export function createServer(
  handler: ExchangeHandler,
  clock: Clock,
  limits: ConnectionLimits,
  onFull: (address: string) => void,
) {
  const app: TemplatedApp & ExclusiveListener = App() as TemplatedApp & ExclusiveListener;
  boundConnections(app, limits, onFull, clock);

  // A handler that throws, or returns without an answer or an abort handler, ends the process (measured).
  app.any('/*', (response, request) => {
    const exchange = new Exchange(response, request, clock);
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
      app.listen(address, port, EXCLUSIVE_PORT, (held) => {
        if (held === false) return;
        socket = { port: us_socket_local_port(held), close: () => us_listen_socket_close(held) };
      });
      return socket;
    },
    /** Cuts every connection. */
    close: (): void => void app.close(),
  };
}

/**
 * Closes each connection that is one too many as soon as it opens. uWebSockets.js itself closes those that send no request for 10 s. Its
 * filter gets a response object when a connection opens, valid until it closes, and an unrelated one when it has closed; the closed
 * connection is recognized at that moment by its lack of an address (all measured).
 */
function boundConnections(
  app: TemplatedApp,
  limits: ConnectionLimits,
  onFull: (address: string) => void,
  clock: Clock,
): void {
  const connections = new Connections(limits);
  let isRefusing = false;
  let loggedAt = Number.NEGATIVE_INFINITY;
  const refuse = (response: HttpResponse, address: string): void => {
    isRefusing = true;
    response.close();
    isRefusing = false;
    const now = clock.monotonic();
    if (now - loggedAt < LOG_PAUSE_MS) return;
    loggedAt = now;
    onFull(address);
  };
  const opened = (response: HttpResponse): void => {
    const address = addressKey(response.getRemoteAddress());
    if (!connections.admits(address)) refuse(response, address);
    else connections.arrived({ address, isOpen: () => response.getRemoteAddress().byteLength > 0 });
  };
  /** `change` is 1 when a connection opens and -1 when it closes, also if it is closed from here (measured). */
  const changed = (response: HttpResponse, change: number): void => {
    if (change > 0) opened(response);
    else if (!isRefusing) connections.left();
  };
  app.filter(changed);
}

/** All programs on this machine count as one peer. */
export const LOOPBACK = 'loopback';

const MAPPED_PREFIX = Buffer.from('00000000000000000000ffff', 'hex');
const IPV6_LOOPBACK = Buffer.from('00000000000000000000000000000001', 'hex');

/** `address` has 4 or 16 bytes. An IPv4 address has the same name in its IPv6 form. */
export function addressKey(address: ArrayBuffer): string {
  const whole = Buffer.from(address);
  const isMapped = whole.length === 16 && whole.subarray(0, 12).equals(MAPPED_PREFIX);
  const bytes = isMapped ? whole.subarray(12) : whole;
  if (bytes.length === 4) return bytes[0] === 127 ? LOOPBACK : bytes.join('.');
  return bytes.equals(IPV6_LOOPBACK) ? LOOPBACK : bytes.toString('hex');
}

interface OpenConnection {
  readonly address: string;
  /** Costs a system call. */
  readonly isOpen: () => boolean;
}

/** The open connections, by the addresses of their other ends. */
export class Connections {
  readonly #limits: ConnectionLimits;
  /** Oldest first. */
  readonly #open: OpenConnection[] = [];

  constructor(limits: ConnectionLimits) {
    this.#limits = limits;
  }

  /** False if there are too many already. Neither loopback nor the others can take the part that is reserved for the other side. */
  admits(address: string): boolean {
    const { connections, reserved, perAddress } = this.#limits;
    const fromLoopback = this.#count(LOOPBACK);
    const isLocal = address === LOOPBACK;
    const sameSide = isLocal ? fromLoopback : this.#open.length - fromLoopback;
    const isBelowBound = isLocal || this.#count(address) < perAddress;
    return isBelowBound && this.#open.length < connections && sameSide < connections - reserved;
  }

  arrived(connection: OpenConnection): void {
    this.#open.push(connection);
  }

  /** Removes the connection that has closed; usually a recent one. */
  left(): void {
    const at = this.#open.findLastIndex(({ isOpen }) => !isOpen());
    if (at >= 0) this.#open.splice(at, 1);
  }

  #count(address: string): number {
    let count = 0;
    for (const each of this.#open) if (each.address === address) count += 1;
    return count;
  }
}
