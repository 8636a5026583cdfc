// Keeps the names of the outputs that have appeared in this life of the sound server, which is the time since
// its start. The names are also in a file, so that none of these outputs counts as new after a restart of the
// daemon.

import { join } from 'node:path';
import { type Clock, within } from '../../host/clock.js';
import { SharedWork } from '../../host/turns.js';
import { runtimeDirectory } from '../../host/user-directories.js';
import type { Publisher } from '../runtime.js';
import { codeOf, FILE_WAIT_MAX_MS, readInTime, readSmallFile, writeWhole } from '../small-file.js';
import { jsonObject } from '../text.js';
import type { ServerContext } from './server-address.js';

/** At most this many names are kept. The oldest ones are forgotten first. */
const NAMES_MAX = 256;
/** 4 kB for each of `NAMES_MAX` names, far more than a name takes. */
const FILE_MAX_BYTES = 1024 * 1024;

export class KnownOutputs {
  readonly #path: string;
  readonly #clock: Clock;
  readonly #log: Publisher['log'];
  /** The number that marks the server's present life; undefined before the first call of `enterLife`. */
  #cookie: number | undefined;
  #names = new Set<string>();
  #lastRead: Promise<void> = Promise.resolve();
  #lastWrite: Promise<void> = Promise.resolve();
  readonly #sharedWrite = new SharedWork(() => this.#writeFile());

  constructor({ env, uid }: ServerContext, clock: Clock, log: Publisher['log']) {
    this.#path = join(runtimeDirectory(env, uid), 'tonearm/outputs.json');
    this.#clock = clock;
    this.#log = log;
  }

  /**
   * To be awaited before `has` and `add`. `cookie` comes from the server's info, and differs between the
   * lives of the server. Resolves when the names of this life are known.
   */
  enterLife(cookie: number): Promise<void> {
    if (cookie !== this.#cookie) {
      this.#cookie = cookie;
      // A write that still waits must not write the names of the earlier life with the new cookie.
      this.#names = new Set();
      this.#lastRead = this.#read(cookie);
    }
    return this.#lastRead;
  }

  has(name: string): boolean {
    return this.#names.has(name);
  }

  add(names: readonly string[]): void {
    const newNames = names.filter((name) => !this.#names.has(name));
    if (newNames.length === 0) return;
    const oldestFirst = [...this.#names, ...newNames];
    this.#names = new Set(oldestFirst.slice(-NAMES_MAX));
    this.#lastWrite = this.#sharedWrite.run();
  }

  /** Resolves when the added names are in the file, or when writing has failed or takes too long. */
  async flush(): Promise<void> {
    await within(this.#clock, FILE_WAIT_MAX_MS, this.#lastWrite);
  }

  async #read(cookie: number): Promise<void> {
    const file = await readInTime(this.#clock, readSmallFile(this.#path, FILE_MAX_BYTES));
    const content = file.ok ? jsonObject(Buffer.from(file.value.bytes).toString()) : undefined;
    // The names in the file may be those of an earlier life.
    const names: unknown = content?.['cookie'] === cookie ? content['names'] : undefined;
    // The next life may have begun during the reading. Then `#names` belongs to that life.
    if (cookie !== this.#cookie) return;
    this.#names = new Set(Array.isArray(names) ? names.filter((name) => typeof name === 'string') : []);
  }

  async #writeFile(): Promise<void> {
    const text = JSON.stringify({ cookie: this.#cookie, names: [...this.#names] });
    try {
      await writeWhole(this.#path, `${text}\n`);
    } catch (error) {
      const fields = { path: this.#path, why: codeOf(error) };
      this.#log('debug', 'a restart will not know which outputs were seen', fields);
    }
  }
}
