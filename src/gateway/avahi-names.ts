// Decides whether a name is Avahi's name of this host. Avahi's name may differ from the hostname: Avahi
// calls the second host `raspberrypi` of a network `raspberrypi-2.local`.

import { existsSync } from 'node:fs';
import { connect } from 'node:net';
import { dirname, join } from 'node:path';
import type { Clock } from '../host/clock.js';

export const AVAHI_SOCKET = '/run/avahi-daemon/socket';
/**
 * This file is beside the socket while avahi-daemon runs. Without the file no connection is made, because a
 * connection would make systemd start avahi-daemon.
 */
const PID_FILE = 'pid';
/** Names with another ending are never trusted, because a public web server could have such a name. */
const TRUSTED_SUFFIX = '.local';
/**
 * Avahi answers for its own addresses within 4 ms. For an address that it does not know it waits for 5 s
 * (docs/development/what-we-learnt.md, "systemd, logind and Avahi").
 */
const DEADLINE_MS = 1000;
/** How long the last answer is used for a name that is in it. */
const AVAHI_NAME_MS = 10_000;
/**
 * How long the last answer is used for a name that is not in it. This time is shorter, so that a new name of
 * the host is soon accepted.
 */
const OTHER_NAME_MS = 1000;
/** The names of at most this many addresses are requested of Avahi. */
const ADDRESSES_MAX = 8;
/** A correct answer, which is a name and some words before it, is always shorter. */
const ANSWER_MAX_CHARACTERS = 512;

interface AvahiAccess {
  /** The addresses of this host, the best first, because only the first `ADDRESSES_MAX` are used. */
  readonly addresses: () => readonly string[];
  readonly socketPath: string;
  readonly clock: Clock;
}

export class AvahiNames {
  readonly #access: AvahiAccess;
  #names: ReadonlySet<string> = new Set();
  #requestEndedAt = Number.NEGATIVE_INFINITY;
  #pendingAnswer: Promise<void> | undefined;

  constructor(access: AvahiAccess) {
    this.#access = access;
  }

  /**
   * True if `name`, which must be in lower case, is one of Avahi's names of this host. Undefined if `ask`
   * must be called first.
   */
  has(name: string): boolean | undefined {
    if (!name.endsWith(TRUSTED_SUFFIX)) return false;
    const ageMs = this.#access.clock.monotonic() - this.#requestEndedAt;
    const isAvahiName = this.#names.has(name);
    const maxAgeMs = isAvahiName ? AVAHI_NAME_MS : OTHER_NAME_MS;
    return ageMs < maxAgeMs ? isAvahiName : undefined;
  }

  /**
   * Asks Avahi for the names of this host. Avahi's socket accepts lines of text, so no bus is needed.
   * Concurrent calls share one answer. Never rejects.
   */
  ask(): Promise<void> {
    this.#pendingAnswer ??= this.#requestNames().finally(() => {
      this.#pendingAnswer = undefined;
    });
    return this.#pendingAnswer;
  }

  async #requestNames(): Promise<void> {
    const isRunning = existsSync(join(dirname(this.#access.socketPath), PID_FILE));
    const addresses = isRunning ? this.#access.addresses().slice(0, ADDRESSES_MAX) : [];
    const answers = await Promise.all(addresses.map((address) => requestAnswer(address, this.#access)));
    // If requests were sent, but no answer came in time, Avahi is only slow. So the last known names stay.
    const isSlow = answers.length > 0 && answers.every((answer) => answer === undefined);
    if (!isSlow) this.#names = new Set(answers.flatMap((answer = '') => nameInAnswer(answer) ?? []));
    this.#requestEndedAt = this.#access.clock.monotonic();
  }
}

/** Resolves with undefined if no answer comes in time, and with an empty text if Avahi cannot be reached. */
function requestAnswer(address: string, { socketPath, clock }: AvahiAccess): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = connect(socketPath);
    let answer = '';
    // `cancel`, which is declared below, has its value before `settle` runs, because the socket and the
    // timer call back later.
    const settle = (result: string | undefined): void => {
      cancel();
      socket.destroy();
      resolve(result);
    };
    const end = (): void => settle(answer);
    const cancel = clock.after(DEADLINE_MS, () => settle(undefined));
    socket.setEncoding('latin1');
    socket.on('error', end);
    socket.on('close', end);
    socket.on('data', (text: string) => {
      answer += text;
      if (answer.includes('\n') || answer.length > ANSWER_MAX_CHARACTERS) end();
    });
    socket.write(`RESOLVE-ADDRESS ${address}\n`);
  });
}

/**
 * The answer is a line `+ INTERFACE PROTOCOL NAME`, such as `+ 2 0 kitchen.local`, or `-` and an error.
 * INTERFACE and PROTOCOL are numbers, and may be negative. NAME may end in a dot.
 */
function nameInAnswer(answer: string): string | undefined {
  return /^\+ -?\d+ -?\d+ (\S+)\n/.exec(answer)?.[1]?.toLowerCase().replace(/\.$/, '');
}
