// Opens and closes listening sockets as the addresses that `bind` names come and go (docs/configuration.md, "Addresses"). The system
// does not notify of such changes, so addresses that can change are polled.

import { createServer } from 'node:net';
import type { Clock } from '../clock.js';
import type { LogFields } from '../protocol/actor/messages.js';
import type { LogLevel } from '../protocol/actor/settings.js';
import { canChange, hostFor, type InterfaceAddresses, resolveBind, type WantedAddress } from './bind.js';

/** docs/configuration.md, "Addresses" promises 10 s. Each poll is a wake-up; the whole process has 1.3 per second. */
const LOOK_EVERY_MS = 8000;
/** A new IPv6 address is not usable during duplicate address detection (RFC 4862: a second or two). */
const LOOK_SOON_MS = 1000;
const LOOKS_SOON_MAX = 5;

export interface ListeningSocket {
  readonly port: number;
  /** Accepted connections stay open. */
  close(): void;
}

export interface ListeningOptions {
  readonly bind: readonly string[];
  /** 0: any free port, the same for all addresses. */
  readonly port: number;
  /** `os.networkInterfaces()`, which may throw. */
  readonly interfaces: () => InterfaceAddresses;
  /** Undefined if the address cannot be listened on. */
  readonly open: (address: string, port: number) => ListeningSocket | undefined;
  readonly clock: Clock;
  readonly log: (level: LogLevel, message: string, fields?: LogFields) => void;
  readonly changed: () => void;
}

export interface ListeningState {
  readonly listening: readonly string[];
  /** Entries of `bind` that are missing, or cannot be listened on now. */
  readonly waiting: readonly string[];
}

export class ListeningSockets {
  readonly #options: ListeningOptions;
  readonly #open = new Map<string, ListeningSocket>();
  #waiting: readonly string[] = [];
  #refused: readonly string[] = [];
  #notes: readonly string[] = [];
  #isBlind = false;
  #soonLeft = LOOKS_SOON_MAX;
  #cancel: (() => void) | undefined;

  /** Polls once before it returns, and then until `stop`. */
  constructor(options: ListeningOptions) {
    this.#options = options;
    this.#look();
  }

  get state(): ListeningState {
    return { listening: [...this.#open.keys()], waiting: this.#waiting };
  }

  /** Addresses that exist but cannot be listened on. */
  get refused(): readonly string[] {
    return this.#refused;
  }

  /** The port of all sockets; without sockets the one of the options. */
  get port(): number {
    const [first] = this.#open.values();
    return first?.port ?? this.#options.port;
  }

  /** `host:port` at which a client, given by its IP address, can reach this service. */
  placeFor(client: string): string {
    return `${hostFor(client, this.state.listening, this.#interfaces() ?? {})}:${this.port}`;
  }

  /** Stops polling. Open sockets stay open. */
  stop(): void {
    this.#cancel?.();
    this.#cancel = undefined;
  }

  readonly #look = (): void => {
    const interfaces = this.#interfaces();
    if (interfaces !== undefined) this.#follow(interfaces);
    const { bind, clock } = this.#options;
    const isWhole = this.#waiting.length === 0 && interfaces !== undefined;
    if (isWhole && !canChange(bind)) return;
    const isSoon = this.#refused.length > 0 && this.#soonLeft > 0;
    if (isSoon) this.#soonLeft -= 1;
    this.#cancel = clock.after(isSoon ? LOOK_SOON_MS : LOOK_EVERY_MS, this.#look);
  };

  /** Undefined if the system call fails; nothing is changed then. */
  #interfaces(): InterfaceAddresses | undefined {
    try {
      const interfaces = this.#options.interfaces();
      this.#isBlind = false;
      return interfaces;
    } catch (error) {
      if (!this.#isBlind)
        this.#options.log('warn', 'the network addresses cannot be read', { reason: String(error) });
      this.#isBlind = true;
      return undefined;
    }
  }

  #follow(interfaces: InterfaceAddresses): void {
    const { log } = this.#options;
    const { wanted, waiting, notes } = resolveBind(this.#options.bind, interfaces);
    for (const note of notes) if (!this.#notes.includes(note)) log('warn', note);
    this.#notes = notes;
    // Closes first, as an old socket may block a new one.
    const before = [...this.#open.keys()].join();
    this.#closeAllBut(wanted);
    const refused = this.#openAll(wanted);
    if ([...this.#open.keys()].join() !== before) this.#options.changed();
    this.#logRefused(refused.map(({ address }) => address));
    this.#logWaiting([...new Set([...waiting, ...refused.map(({ name }) => name)])], waiting);
  }

  #closeAllBut(wanted: readonly WantedAddress[]): void {
    const gone = [...this.#open].filter(([open]) => !wanted.some(({ address }) => address === open));
    for (const [address, socket] of gone) {
      socket.close();
      this.#open.delete(address);
    }
    if (gone.length === 0) return;
    this.#options.log('info', 'no longer listening', {
      addresses: gone.map(([address]) => address).join(' '),
    });
  }

  #openAll(wanted: readonly WantedAddress[]): readonly WantedAddress[] {
    const refused: WantedAddress[] = [];
    const opened: string[] = [];
    for (const one of wanted) {
      if (this.#open.has(one.address)) continue;
      const socket = this.#options.open(one.address, this.port);
      if (socket === undefined) {
        refused.push(one);
        continue;
      }
      this.#open.set(one.address, socket);
      opened.push(one.address);
    }
    if (opened.length > 0) {
      this.#options.log('info', 'listening', { addresses: opened.join(' '), port: this.port });
    }
    return refused;
  }

  #logRefused(refused: readonly string[]): void {
    const fresh = refused.filter((address) => !this.#refused.includes(address));
    this.#refused = refused;
    if (fresh.length === 0) return;
    this.#soonLeft = LOOKS_SOON_MAX;
    const facts = { addresses: fresh.join(' '), port: this.port };
    this.#options.log('warn', 'cannot listen yet: the port is taken, or the address is not ready', facts);
  }

  /** `absent` is the part of `waiting` that does not exist at all. */
  #logWaiting(waiting: readonly string[], absent: readonly string[]): void {
    const fresh = absent.filter((name) => !this.#waiting.includes(name));
    this.#waiting = waiting;
    if (fresh.length === 0) return;
    const facts = { bind: fresh.join(' ') };
    this.#options.log('warn', 'waiting for an interface or address that does not exist yet', facts);
  }
}

/**
 * Finds the kernel's error code, such as `EADDRINUSE`, as uWebSockets.js reports only that listening failed. Undefined if listening
 * works now. Leaves no socket open, and never rejects.
 */
export function whyRefused(address: string, port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    server.listen({ host: address, port, exclusive: true }, () => server.close(() => resolve(undefined)));
  });
}
