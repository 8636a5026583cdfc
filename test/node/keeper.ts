// Starts the keeper, the process that boots and ends a node (launch-script.ts). Sends orders to the keeper,
// reads its reports, and ends it.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { LAUNCH } from './launch-script.js';

/** The keeper's descriptors for reports and orders (launch-script.ts). */
const REPORTS_FD = 3;
const ORDERS_FD = 4;

const CLOSE_DEADLINE_MS = 30_000;
/** This many last characters of the console are enough to see why a boot failed. */
const CONSOLE_CHARACTERS = 16_384;

export class Keeper {
  /** The process id of the keeper's child. All processes of the node are descendants of this child. */
  readonly holder: Promise<number>;
  /** The last text of the keeper's output, which includes the node's console. */
  console = '';
  readonly #child: ChildProcess;
  readonly #orders: Writable;
  readonly #failure: Promise<never>;
  /** Set while somebody waits for the end of the node. */
  #onEnded: ((status: number) => void) | undefined;

  constructor(settings: Readonly<Record<string, string>>) {
    const [command, ...args] = LAUNCH;
    // The keeper has a session of its own, so that Ctrl-C reaches only the tests. When the tests end, the
    // keeper's standard input ends, and the keeper cleans up.
    this.#child = spawn(command, args, {
      detached: true,
      stdio: ['pipe', 'pipe', 'pipe', 'pipe', 'pipe'],
      env: { PATH: process.env['PATH'], SYSTEMD_NSPAWN_UNIFIED_HIERARCHY: '1', LANG: 'C', ...settings },
    });
    for (const output of [this.#child.stdout, this.#child.stderr]) {
      output?.setEncoding('utf8').on('data', (text: string) => {
        this.console = (this.console + text).slice(-CONSOLE_CHARACTERS);
      });
    }
    this.#orders = this.#child.stdio[ORDERS_FD] as Writable;
    // After the end of the keeper nobody reads orders, and writing fails. `#failure` reports that end.
    this.#orders.on('error', (error) => this.#orders.destroy(error));
    const lines = createInterface({ input: this.#child.stdio[REPORTS_FD] as Readable });
    let fail: (error: Error) => void = () => undefined;
    this.#failure = new Promise((_, reject) => {
      fail = reject;
    });
    this.#child.on('error', fail);
    lines.on('close', () => fail(new Error('the node ended unasked')));
    // Sometimes nobody waits for `#failure` when it rejects, for instance after `close`. Without this handler
    // such a rejection would end the tests.
    this.#failure.catch(() => undefined);
    this.holder = new Promise((resolve) => {
      lines.on('line', (line) => {
        const [word, number] = line.split(' ');
        // The report `keeper PID` has the id of the keeper's child. The only other report is `ended STATUS`.
        if (word === 'keeper') resolve(Number(number));
        else if (this.#onEnded !== undefined) this.#onEnded(Number(number));
        else fail(new Error(`the node ended unasked, with status ${number}`));
      });
    });
  }

  /** Settles like `expected`, but rejects if the keeper fails first. */
  orFailure<T>(expected: Promise<T>): Promise<T> {
    return Promise.race([expected, this.#failure]);
  }

  boot(): void {
    this.#orders.write('boot\n');
  }

  /** Resolves with nspawn's status when the running node ends. Rejects after the deadline. */
  ended(deadlineMs: number): Promise<number> {
    return new Promise((resolve, reject) => {
      const late = new Error(`the node did not end in ${deadlineMs} ms`);
      const timer = setTimeout(() => reject(late), deadlineMs);
      this.#onEnded = (status) => {
        this.#onEnded = undefined;
        clearTimeout(timer);
        resolve(status);
      };
    });
  }

  async close(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const gone = once(this.#child, 'close', { signal: AbortSignal.timeout(CLOSE_DEADLINE_MS) });
    this.#child.stdin?.end();
    await gone;
  }
}
