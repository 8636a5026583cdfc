// Keeps what is listened on in step with `bind` and the machine's addresses, which come and go (docs/configuration.md, "Addresses").
// Nothing tells of them, so the machine is asked again and again, where they can change at all.

import { createServer } from 'node:net';
import type { Clock } from '../clock.js';
import type { LogFields } from '../protocol/actor/messages.js';
import type { LogLevel } from '../protocol/actor/settings.js';
import { canChange, hostFor, type InterfaceAddresses, resolveBind, type WantedAddress } from './bind.js';

/** 10 s are promised (docs/configuration.md, "Addresses"). Each look is a wake-up, of which the whole process has 1.3 in a second. */
const LOOK_EVERY_MS = 8000;
/** A new IPv6 address cannot be listened on while the network is asked whether somebody else has it (RFC 4862: a second or two). */
const LOOK_SOON_MS = 1000;
const LOOKS_SOON_MAX = 5;

export interface ListeningSocket {
  readonly port: number;
  /** Connections that it took stay. */
  close(): void;
}

export interface ListeningOptions {
  readonly bind: readonly string[];
  /** 0: a free one, the same for all addresses. */
  readonly port: number;
  /** As `os.networkInterfaces()`, which may throw. */
  readonly interfaces: () => InterfaceAddresses;
  /** Undefined: it cannot be listened on. */
  readonly open: (address: string, port: number) => ListeningSocket | undefined;
  readonly clock: Clock;
  readonly log: (level: LogLevel, message: string, fields?: LogFields) => void;
  /** What is listened on is another than before. */
  readonly changed: () => void;
}

/** What `/health` shows. */
export interface ListeningState {
  readonly listening: readonly string[];
  /** What of `bind` is not there, or cannot be listened on now. */
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

  /** Has looked once when it returns, and looks again until `stop`. */
  constructor(options: ListeningOptions) {
    this.#options = options;
    this.#look();
  }

  get state(): ListeningState {
    return { listening: [...this.#open.keys()], waiting: this.#waiting };
  }

  /** Addresses that are there and cannot be listened on. */
  get refused(): readonly string[] {
    return this.#refused;
  }

  /** Of all sockets; what was asked for while there is none. */
  get port(): number {
    const [first] = this.#open.values();
    return first?.port ?? this.#options.port;
  }

  /** `host:port` at which a client, an IP address, finds what is listened on. */
  placeFor(client: string): string {
    return `${hostFor(client, this.state.listening, this.#interfaces() ?? {})}:${this.port}`;
  }

  /** Looks no more. What is open stays open. */
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

  /** Undefined: the machine does not say, which is no reason to change anything. */
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
    // First: what goes may stand in the way of what comes.
    const before = [...this.#open.keys()].join();
    this.#closeAllBut(wanted);
    const refused = this.#openAll(wanted);
    if ([...this.#open.keys()].join() !== before) this.#options.changed();
    this.#tellRefused(refused.map(({ address }) => address));
    this.#tellWaiting([...new Set([...waiting, ...refused.map(({ name }) => name)])], waiting);
  }

  #closeAllBut(wanted: readonly WantedAddress[]): void {
    const gone = [...this.#open].filter(([open]) => !wanted.some(({ address }) => address === open));
    for (const [address, socket] of gone) {
      socket.close();
      this.#open.delete(address);
    }
    if (gone.length === 0) return;
    this.#options.log('info', 'listens no longer', { addresses: gone.map(([address]) => address).join(' ') });
  }

  /** What cannot be opened. */
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

  #tellRefused(refused: readonly string[]): void {
    const fresh = refused.filter((address) => !this.#refused.includes(address));
    this.#refused = refused;
    if (fresh.length === 0) return;
    this.#soonLeft = LOOKS_SOON_MAX;
    const told = { addresses: fresh.join(' '), port: this.port };
    this.#options.log('warn', 'cannot listen now: the port is taken, or the address is not ready yet', told);
  }

  /** `absent` are those of `waiting` that are not there at all. */
  #tellWaiting(waiting: readonly string[], absent: readonly string[]): void {
    const fresh = absent.filter((name) => !this.#waiting.includes(name));
    this.#waiting = waiting;
    if (fresh.length === 0) return;
    const told = { bind: fresh.join(' ') };
    this.#options.log('warn', 'not there yet, and will be listened on when it comes', told);
  }
}

/**
 * Why an address cannot be listened on, of which uWebSockets.js only says that it cannot: the kernel's word, such as `EADDRINUSE`;
 * undefined: by now it could be. Takes nothing, and never rejects.
 */
export function whyRefused(address: string, port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    server.listen({ host: address, port, exclusive: true }, () => server.close(() => resolve(undefined)));
  });
}
