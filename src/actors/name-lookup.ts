// Looks up a name as every program of the machine does, but so that it can be ended. Node's own
// look-up is a call of getaddrinfo, which nothing ends: while a name server is silent it holds one of the
// process's four file threads, and its thread, and with that the process, could not end.

import type { ChildProcess } from 'node:child_process';
import { lookup } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';

/** A connection has as long from its beginning. */
const LOOKUP_MAX_MS = 10_000;
/** A name with hundreds of addresses. */
const OUTPUT_MAX_BYTES = 1 << 16;
/** These stand in the machine's own files, and are found without asking anybody. */
const LOCAL = /^(?:.*\.)?localhost\.?$/i;

interface Address {
  readonly address: string;
  readonly family: number;
}

export class NameLookup {
  #running: { readonly child: ChildProcess; readonly ended: Promise<unknown> } | undefined;
  #isEnded = false;
  readonly #program: string;

  constructor(program = 'getent') {
    this.#program = program;
  }

  /**
   * A function for `net.connect`, which calls it once. Undefined for a name for which Node's own look-up is
   * right.
   */
  functionFor(host: string): LookupFunction | undefined {
    if (LOCAL.test(host) || isIP(host) !== 0) return undefined;
    return (name, options, found) => {
      this.#addressesOf(name).then(
        ([first, ...others]) => {
          if (first === undefined) found(notFound(name), []);
          else if (options.all === true) found(null, [first, ...others]);
          else found(null, first.address, first.family);
        },
        // The program is missing, or cannot be started now.
        () => lookup(name, options, found),
      );
    };
  }

  /** Resolves when no child is left: one that ended after its thread would stay a zombie. */
  async end(): Promise<void> {
    this.#isEnded = true;
    this.#running?.child.kill('SIGKILL');
    await this.#running?.ended;
  }

  async #addressesOf(name: string): Promise<readonly Address[]> {
    // This is loaded when a name is looked up, because it takes 2 MB.
    const { execFile } = await import('node:child_process');
    if (this.#isEnded) return [];
    const options = {
      timeout: LOOKUP_MAX_MS,
      maxBuffer: OUTPUT_MAX_BYTES,
      killSignal: 'SIGKILL',
    } as const;
    const output = new Promise<string>((resolve, reject) => {
      const child = execFile(this.#program, ['ahosts', name], options, (error, stdout) => {
        // A status is the answer that there is no such name; a text is what kept the program from running.
        if (typeof error?.code === 'string') reject(error);
        else resolve(stdout);
      });
      const ended = new Promise((resolve) => child.once('close', resolve).once('error', resolve));
      this.#running = { child, ended };
    });
    return addressesIn(await output);
  }
}

/** Each address stands in several lines, one for each kind of socket. */
function addressesIn(output: string): readonly Address[] {
  const texts = output.split('\n').map((line) => line.slice(0, line.search(/\s/)));
  const known = new Map(texts.map((address) => [address, { address, family: isIP(address) }] as const));
  return [...known.values()].filter(({ family }) => family !== 0);
}

/** The error has Node's own words. */
function notFound(name: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`getaddrinfo ENOTFOUND ${name}`), { code: 'ENOTFOUND' });
}
