// Looks up host names by a child process, because a child process can be killed. With Node.js's own look-up,
// the daemon could not end while a name server is silent.

import type { ChildProcess } from 'node:child_process';
import { lookup } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';

/** An attempt to connect takes no longer than this, so an address that is found later would be useless. */
const LOOKUP_MAX_MS = 10_000;
/** This is enough for a name with hundreds of addresses. */
const OUTPUT_MAX_BYTES = 64 * 1024;
/**
 * The code of Node.js's error if the output is too long. Node.js then kills the child process, and still
 * returns the output up to the bound.
 */
const OUTPUT_TOO_LONG = 'ERR_CHILD_PROCESS_STDIO_MAXBUFFER';
/** Names of this machine, such as `localhost` and `a.localhost.`. Node.js needs no name server for them. */
const LOCALHOST = /^(?:.*\.)?localhost\.?$/i;

interface Address {
  readonly address: string;
  readonly family: number;
}

/**
 * Looks up the name of one peer by a child process. The caller must not begin a look-up before the earlier
 * look-up has ended. Node.js's own look-up calls getaddrinfo. Such a call cannot be ended, and blocks one of
 * the few threads that Node.js has for files.
 */
export class NameLookup {
  /** The process of the last look-up. It may have ended already. */
  #lastProcess: { readonly childProcess: ChildProcess; readonly ended: Promise<unknown> } | undefined;
  /** True after the call of `end`. */
  #isStopped = false;
  readonly #program: string;

  constructor(program = 'getent') {
    this.#program = program;
  }

  /**
   * Returns the option `lookup` for one `net.connect`. Returns undefined for an IP address and for localhost,
   * because Node.js's own look-up is enough: it needs no name server for these.
   */
  lookupFor(host: string): LookupFunction | undefined {
    if (LOCALHOST.test(host) || isIP(host) !== 0) return undefined;
    return (name, options, callback) => {
      this.#findAddresses(name).then(
        (addresses) => {
          const [first] = addresses;
          if (first === undefined) callback(noAddressError(name), []);
          else if (options.all === true) callback(null, [...addresses]);
          else callback(null, first.address, first.family);
        },
        // Node.js's own look-up is used if the program is missing, or cannot be started now.
        () => lookup(name, options, callback),
      );
    };
  }

  /**
   * Kills the child process, and resolves when it has ended. A child process that ends after this thread
   * would stay a zombie.
   */
  async end(): Promise<void> {
    this.#isStopped = true;
    this.#lastProcess?.childProcess.kill('SIGKILL');
    await this.#lastProcess?.ended;
  }

  async #findAddresses(name: string): Promise<readonly Address[]> {
    // The module is loaded only for a look-up, because it takes 2 MB.
    const { execFile } = await import('node:child_process');
    if (this.#isStopped) return [];
    const options = {
      timeout: LOOKUP_MAX_MS,
      maxBuffer: OUTPUT_MAX_BYTES,
      killSignal: 'SIGKILL',
    } as const;
    const output = new Promise<string>((resolve, reject) => {
      const childProcess = execFile(this.#program, ['ahosts', name], options, (error, stdout) => {
        // The code is a text if the program could not run (an errno name), or if its output was too long.
        // The code is a number, the exit status, if the program ran but did not find the host. There is no
        // code if the program was killed.
        const couldNotRun = typeof error?.code === 'string' && error.code !== OUTPUT_TOO_LONG;
        if (couldNotRun) reject(error);
        else resolve(stdout);
      });
      const ended = new Promise((resolve) => childProcess.once('close', resolve).once('error', resolve));
      this.#lastProcess = { childProcess, ended };
    });
    return addressesInOutput(await output);
  }
}

/**
 * Each line of the output begins with an address. Each address has several lines, one for each kind of
 * socket. The text after the last line break is left out: it is empty, or an incomplete line if the output
 * was too long.
 */
function addressesInOutput(output: string): readonly Address[] {
  const lines = output.split('\n').slice(0, -1);
  const firstWords = lines.map((line) => line.slice(0, line.search(/\s/)));
  return [...new Set(firstWords)]
    .map((address) => ({ address, family: isIP(address) }))
    .filter(({ family }) => family !== 0);
}

/** The error that Node.js's own look-up would give. */
function noAddressError(name: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`getaddrinfo ENOTFOUND ${name}`), { code: 'ENOTFOUND' });
}
