// The names that Avahi has given this host: the second `raspberrypi` of a network is `raspberrypi-2.local`,
// and its hostname does not say so. Avahi is asked over its plain socket, which needs no bus, and only if a
// request comes by a name that Avahi may have given.

import { existsSync } from 'node:fs';
import { connect } from 'node:net';
import { dirname, join } from 'node:path';
import type { Clock } from '../host/clock.js';

export const AVAHI_SOCKET = '/run/avahi-daemon/socket';
/**
 * This file stands beside the socket while avahi-daemon runs. It is looked for first, because a connection
 * would make systemd start an avahi-daemon that does not run.
 */
const RUNS_FILE = 'pid';
/** Names with another ending are never trusted, because a public web server could have such a name. */
const SUFFIX = '.local';
/**
 * Avahi answers for its own addresses within 4 ms. For an address that it does not know it waits for 5 s
 * (docs/development/what-we-learnt.md, "systemd, logind and Avahi").
 */
const DEADLINE_MS = 1000;
/** How long an answer is used: the first for names that Avahi gave, the second for all other names. */
const KNOWN_MS = 10_000;
const UNKNOWN_MS = 1000;
/** Avahi is asked for the names of this many addresses at most. */
const ADDRESSES_MAX = 8;
/** A correct answer, which is a name and some words before it, is always shorter. */
const ANSWER_CHARS_MAX = 512;

interface AvahiAccess {
  /** Addresses of this host, best first. */
  readonly addresses: () => readonly string[];
  readonly socketPath: string;
  readonly clock: Clock;
}

export class AvahiNames {
  readonly #access: AvahiAccess;
  #names: ReadonlySet<string> = new Set();
  #answeredAt = Number.NEGATIVE_INFINITY;
  #underWay: Promise<void> | undefined;

  constructor(access: AvahiAccess) {
    this.#access = access;
  }

  /**
   * True if Avahi has given the host this name; undefined if Avahi must be asked. `name` is in lower case.
   */
  has(name: string): boolean | undefined {
    if (!name.endsWith(SUFFIX)) return false;
    const age = this.#access.clock.monotonic() - this.#answeredAt;
    const isKnown = this.#names.has(name);
    return age < (isKnown ? KNOWN_MS : UNKNOWN_MS) ? isKnown : undefined;
  }

  /** Asks Avahi for all names. Calls before the answer share that answer. Never rejects. */
  ask(): Promise<void> {
    this.#underWay ??= this.#requestNames().finally(() => {
      this.#underWay = undefined;
    });
    return this.#underWay;
  }

  async #requestNames(): Promise<void> {
    const isRunning = existsSync(join(dirname(this.#access.socketPath), RUNS_FILE));
    const addresses = isRunning ? this.#access.addresses().slice(0, ADDRESSES_MAX) : [];
    const names = await Promise.all(addresses.map((address) => nameOf(address, this.#access)));
    this.#names = new Set(names.flatMap((name) => name ?? []));
    this.#answeredAt = this.#access.clock.monotonic();
  }
}

/** Undefined if Avahi is not there, or does not know the address. */
function nameOf(address: string, { socketPath, clock }: AvahiAccess): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = connect(socketPath);
    let answer = '';
    const end = (): void => {
      cancel();
      socket.destroy();
      resolve(nameIn(answer));
    };
    const cancel = clock.after(DEADLINE_MS, end);
    socket.setEncoding('latin1');
    socket.on('error', end);
    socket.on('close', end);
    socket.on('data', (text: string) => {
      answer += text;
      if (answer.includes('\n') || answer.length > ANSWER_CHARS_MAX) end();
    });
    socket.write(`RESOLVE-ADDRESS ${address}\n`);
  });
}

/** The answer is `+ INTERFACE PROTOCOL NAME` and the end of a line, or `-` and an error. */
function nameIn(answer: string): string | undefined {
  return /^\+ -?\d+ -?\d+ (\S+)\n/.exec(answer)?.[1]?.toLowerCase().replace(/\.$/, '');
}
