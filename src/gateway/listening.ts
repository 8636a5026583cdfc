// Opens a listening socket for each address of `bind` that exists, and closes it when the address disappears
// (docs/configuration.md, "Addresses"). Node.js does not report such changes, so addresses that can change
// are polled.

import type { Clock } from '../host/clock.js';
import { bestFirst, type InterfaceAddresses, reachableAt } from '../host/own-addresses.js';
import type { Log } from '../protocol/actor/messages.js';
import { type BindAddress, canChange, hostForClient, resolveBind } from './bind.js';

/**
 * A new address must be served within 10 s (docs/configuration.md, "Addresses"). More frequent polls would
 * wake the process too often, because the goal for the whole process is 1.3 wake-ups per second at rest
 * (bench/FIGURES.md, "At rest").
 */
const POLL_EVERY_MS = 8000;

export interface BoundSocket {
  readonly port: number;
  /** Accepted connections stay open. Call `close` only once, because it frees the socket. */
  close(): void;
}

export interface ListeningOptions {
  readonly bind: readonly string[];
  /** 0 means any free port, the same for all addresses. */
  readonly port: number;
  /** `os.networkInterfaces()`, which may throw. */
  readonly interfaces: () => InterfaceAddresses;
  /** Undefined if the address cannot be listened on. */
  readonly open: (address: string, port: number) => BoundSocket | undefined;
  readonly clock: Clock;
  readonly log: Log;
  readonly onListeningChanged: () => void;
}

export interface ListeningState {
  /** The addresses that are listened on. */
  readonly listening: readonly string[];
  /** Entries of `bind` without a usable address, or with an address that cannot be listened on now. */
  readonly waiting: readonly string[];
}

export class ListeningSockets {
  readonly #options: ListeningOptions;
  #bind: readonly string[];
  /** By address. */
  readonly #sockets = new Map<string, BoundSocket>();
  #waiting: readonly string[] = [];
  #refused: readonly string[] = [];
  /** The warnings that still apply. They are already logged, and are not logged again. */
  #warnings: ReadonlySet<string> = new Set();
  #cancelPoll: () => void = () => undefined;

  /**
   * Polls once before it returns. Another poll follows if an address of `bind` can come and go or is not
   * listened on, or if the interfaces could not be read. `stop` ends the polls.
   */
  constructor(options: ListeningOptions) {
    this.#options = options;
    this.#bind = options.bind;
    this.#poll();
  }

  /** Listens on the addresses of another `bind` from now on; accepted connections stay open. */
  setBind(bind: readonly string[]): void {
    this.#bind = bind;
    this.#cancelPoll();
    this.#poll();
  }

  get state(): ListeningState {
    return { listening: [...this.#sockets.keys()], waiting: this.#waiting };
  }

  /** Addresses that exist but cannot be listened on. */
  get refused(): readonly string[] {
    return this.#refused;
  }

  /** The port of all sockets; the port of the options while there is no socket. */
  get port(): number {
    const [first] = this.#sockets.values();
    return first?.port ?? this.#options.port;
  }

  /** `host:port` at which a client with this IP address can reach this service. */
  hostAndPortFor(client: string): string {
    const host = hostForClient(client, this.state.listening, this.#interfacesBestFirst());
    return `${host}:${this.port}`;
  }

  /** Addresses at which other machines reach this service, best first. */
  reachable(): readonly string[] {
    return reachableAt(this.state.listening, this.#interfacesBestFirst()).map(({ info }) => info.address);
  }

  /** Closes all listening sockets; accepted connections stay open. */
  stop(): void {
    this.#cancelPoll();
    this.#closeAllExcept([]);
  }

  readonly #poll = (): void => {
    const interfaces = this.#readInterfaces();
    if (interfaces !== undefined) this.#openAndCloseSockets(interfaces);
    const { clock } = this.#options;
    const isEverythingOpen = this.#waiting.length === 0 && interfaces !== undefined;
    if (!isEverythingOpen || canChange(this.#bind)) this.#cancelPoll = clock.after(POLL_EVERY_MS, this.#poll);
  };

  #interfacesBestFirst(): InterfaceAddresses {
    return bestFirst(this.#readInterfaces() ?? {});
  }

  /** Logs a warning and returns undefined if the system call fails. */
  #readInterfaces(): InterfaceAddresses | undefined {
    try {
      return this.#options.interfaces();
    } catch (error) {
      // The earlier warnings stay, so that the next poll that succeeds does not log them again.
      this.#replaceWarnings([...this.#warnings, `the network addresses cannot be read: ${error}`]);
      return undefined;
    }
  }

  #openAndCloseSockets(interfaces: InterfaceAddresses): void {
    const { onListeningChanged } = this.#options;
    const { present, missing, notes } = resolveBind(this.#bind, interfaces);
    const addressesBefore = [...this.#sockets.keys()].join();
    // Sockets are closed first, because an old socket may block a new one on the same port. The kernel
    // refuses `127.0.0.1`, for example, while the socket of `::` is open.
    this.#closeAllExcept(present);
    const refused = this.#openSocketsFor(present);
    this.#refused = refused.map(({ address }) => address);
    this.#waiting = [...new Set([...missing, ...refused.map(({ bindEntry }) => bindEntry)])];
    if ([...this.#sockets.keys()].join() !== addressesBefore) onListeningChanged();
    const why = 'the port is taken, or the address is not ready';
    this.#replaceWarnings([
      ...notes,
      ...this.#refused.map((address) => `cannot listen yet on ${address} port ${this.port}: ${why}`),
      ...missing.map((bindEntry) => `waiting for ${bindEntry} of bind, which does not exist yet`),
    ]);
  }

  /** Logs the warnings that are new. */
  #replaceWarnings(warnings: readonly string[]): void {
    const distinct = new Set(warnings);
    for (const warning of distinct) if (!this.#warnings.has(warning)) this.#options.log('warn', warning);
    this.#warnings = distinct;
  }

  #closeAllExcept(present: readonly BindAddress[]): void {
    const presentAddresses = new Set(present.map(({ address }) => address));
    const gone = [...this.#sockets.keys()].filter((address) => !presentAddresses.has(address));
    for (const address of gone) {
      this.#sockets.get(address)?.close();
      this.#sockets.delete(address);
    }
    if (gone.length > 0) this.#options.log('info', 'no longer listening', { addresses: gone.join(' ') });
  }

  /** Returns the addresses that cannot be listened on. */
  #openSocketsFor(present: readonly BindAddress[]): readonly BindAddress[] {
    const withoutSocket = present.filter(({ address }) => !this.#sockets.has(address));
    for (const { address } of withoutSocket) {
      // If the port of the options is 0, the first socket gets a free port, which the others then use.
      const socket = this.#options.open(address, this.port);
      if (socket !== undefined) this.#sockets.set(address, socket);
    }
    const addresses = withoutSocket.map(({ address }) => address);
    const opened = addresses.filter((address) => this.#sockets.has(address));
    if (opened.length > 0)
      this.#options.log('info', 'listening', { addresses: opened.join(' '), port: this.port });
    return withoutSocket.filter(({ address }) => !this.#sockets.has(address));
  }
}
