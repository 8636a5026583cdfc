// Keeps what is listened on in step with `bind` and the machine's addresses, which come and go (contract, section 1). Nothing tells
// of them, so the machine is asked again and again, where they can change at all.

import type { Clock } from '../clock.js';
import type { LogFields, LogLevel } from '../protocol/actor/messages.js';
import { canChange, type Interfaces, resolveBind, type Wanted } from './bind.js';

/** The contract allows 10 s. Each look is a wake-up, of which the whole process has 1.3 in a second. */
const LOOK_EVERY_MS = 8000;
/** A new IPv6 address cannot be listened on while the network is asked whether somebody else has it (RFC 4862: a second or two). */
const LOOK_SOON_MS = 1000;
const LOOKS_SOON_MAX = 5;

/** One socket that listens. */
export interface Door {
  readonly port: number;
  /** Connections that came through it stay. */
  close(): void;
}

export interface ListeningParts {
  readonly bind: readonly string[];
  /** 0: a free one, the same for all addresses. */
  readonly port: number;
  /** As `os.networkInterfaces()`, which may throw. */
  readonly interfaces: () => Interfaces;
  /** Undefined: it cannot be listened on. */
  readonly open: (address: string, port: number) => Door | undefined;
  readonly clock: Clock;
  readonly log: (level: LogLevel, message: string, fields?: LogFields) => void;
}

/** What `/health` shows. A new object with each change, and only then. */
export interface Doors {
  readonly listening: readonly string[];
  /** What of `bind` is not there, or cannot be listened on now. */
  readonly waiting: readonly string[];
}

export const NO_DOORS: Doors = { listening: [], waiting: [] };

export class Listening {
  readonly #parts: ListeningParts;
  readonly #open = new Map<string, Door>();
  #doors: Doors = NO_DOORS;
  #refused: readonly string[] = [];
  #notes: readonly string[] = [];
  #isBlind = false;
  #soonLeft = LOOKS_SOON_MAX;
  #cancel: (() => void) | undefined;

  /** Has looked once when it returns, and looks again until `stop`. */
  constructor(parts: ListeningParts) {
    this.#parts = parts;
    this.#look();
  }

  get doors(): Doors {
    return this.#doors;
  }

  /** Addresses that are there and cannot be listened on. */
  get refused(): readonly string[] {
    return this.#refused;
  }

  /** Of all open doors; what was asked for while there is none. */
  get port(): number {
    const [first] = this.#open.values();
    return first?.port ?? this.#parts.port;
  }

  /** Looks no more. What is open stays open. */
  stop(): void {
    this.#cancel?.();
    this.#cancel = undefined;
  }

  readonly #look = (): void => {
    const interfaces = this.#interfaces();
    if (interfaces !== undefined) this.#follow(interfaces);
    const { bind, clock } = this.#parts;
    const isWhole = this.#doors.waiting.length === 0 && interfaces !== undefined;
    if (isWhole && !canChange(bind)) return;
    const isSoon = this.#refused.length > 0 && this.#soonLeft > 0;
    if (isSoon) this.#soonLeft -= 1;
    this.#cancel = clock.after(isSoon ? LOOK_SOON_MS : LOOK_EVERY_MS, this.#look);
  };

  /** Undefined: the machine does not say, which is no reason to change anything. */
  #interfaces(): Interfaces | undefined {
    try {
      const interfaces = this.#parts.interfaces();
      this.#isBlind = false;
      return interfaces;
    } catch (error) {
      if (!this.#isBlind)
        this.#parts.log('warn', 'the network addresses cannot be read', { reason: String(error) });
      this.#isBlind = true;
      return undefined;
    }
  }

  #follow(interfaces: Interfaces): void {
    const { log } = this.#parts;
    const { wanted, waiting, notes } = resolveBind(this.#parts.bind, interfaces);
    for (const note of notes) if (!this.#notes.includes(note)) log('warn', note);
    this.#notes = notes;
    // First: what goes may stand in the way of what comes.
    this.#closeAllBut(wanted);
    const refused = this.#openAll(wanted);
    this.#tellRefused(refused.map(({ address }) => address));
    this.#tellWaiting([...new Set([...waiting, ...refused.map(({ name }) => name)])], waiting);
  }

  #closeAllBut(wanted: readonly Wanted[]): void {
    const gone = [...this.#open].filter(([open]) => !wanted.some(({ address }) => address === open));
    for (const [address, door] of gone) {
      door.close();
      this.#open.delete(address);
    }
    if (gone.length === 0) return;
    this.#parts.log('info', 'listens no longer', { addresses: gone.map(([address]) => address).join(' ') });
  }

  /** What cannot be opened. */
  #openAll(wanted: readonly Wanted[]): readonly Wanted[] {
    const refused: Wanted[] = [];
    const opened: string[] = [];
    for (const one of wanted) {
      if (this.#open.has(one.address)) continue;
      const door = this.#parts.open(one.address, this.port);
      if (door === undefined) {
        refused.push(one);
        continue;
      }
      this.#open.set(one.address, door);
      opened.push(one.address);
    }
    if (opened.length > 0) {
      this.#parts.log('info', 'listening', { addresses: opened.join(' '), port: this.port });
    }
    return refused;
  }

  #tellRefused(refused: readonly string[]): void {
    const fresh = refused.filter((address) => !this.#refused.includes(address));
    this.#refused = refused;
    if (fresh.length === 0) return;
    this.#soonLeft = LOOKS_SOON_MAX;
    const told = { addresses: fresh.join(' '), port: this.port };
    this.#parts.log('warn', 'cannot listen now: the port is taken, or the address is not ready yet', told);
  }

  /** `absent` are those of `waiting` that are not there at all. */
  #tellWaiting(waiting: readonly string[], absent: readonly string[]): void {
    const listening = [...this.#open.keys()];
    const before = this.#doors;
    const fresh = absent.filter((name) => !before.waiting.includes(name));
    if (fresh.length > 0) {
      this.#parts.log('warn', 'not there yet, and will be listened on when it comes', {
        bind: fresh.join(' '),
      });
    }
    if (`${listening}` === `${before.listening}` && `${waiting}` === `${before.waiting}`) return;
    this.#doors = { listening, waiting };
  }
}
