// Keeps the names of the outputs that have appeared in this life of the sound server. They are in a file of
// the runtime directory, so that a restart of the service does not take a known output for a new one.

import { join } from 'node:path';
import { type Clock, within } from '../../host/clock.js';
import { runtimeDirectory } from '../../host/user-directories.js';
import type { Publisher } from '../runtime.js';
import { codeOf, inTime, READ_MAX_MS, readSmallFile, writeWhole } from '../small-file.js';
import { jsonObject } from '../text.js';
import { SharedWork } from '../turns.js';
import type { ServerContext } from './server-address.js';

/** The names of the longest ago are forgotten first. */
const NAMES_MAX = 256;
/** 256 names of PipeWire's longest are less. */
const FILE_MAX_BYTES = 1024 * 1024;

export class KnownOutputs {
  readonly #path: string;
  readonly #clock: Clock;
  readonly #log: Publisher['log'];
  #cookie: number | undefined;
  #names = new Set<string>();
  #recalling: Promise<void> = Promise.resolve();
  #writing: Promise<void> = Promise.resolve();

  constructor({ env, uid }: ServerContext, clock: Clock, log: Publisher['log']) {
    this.#path = join(runtimeDirectory(env, uid), 'tonearm/outputs.json');
    this.#clock = clock;
    this.#log = log;
  }

  /**
   * To be awaited before all else. `cookie` comes from the server's info, and is another one in each life of
   * the server.
   */
  enterLife(cookie: number): Promise<void> {
    if (cookie !== this.#cookie) {
      this.#cookie = cookie;
      this.#recalling = this.#recall(cookie);
    }
    return this.#recalling;
  }

  has(name: string): boolean {
    return this.#names.has(name);
  }

  add(names: readonly string[]): void {
    const fresh = names.filter((name) => !this.#names.has(name));
    if (fresh.length === 0) return;
    for (const name of fresh) this.#names.add(name);
    const [...known] = this.#names;
    for (const name of known.slice(0, -NAMES_MAX)) this.#names.delete(name);
    this.#writing = this.#write.run();
  }

  /** Resolves when the added names are in the file, or cannot be written. */
  async settled(): Promise<void> {
    await within(this.#clock, READ_MAX_MS, this.#writing);
  }

  async #recall(cookie: number): Promise<void> {
    const file = await inTime(this.#clock, readSmallFile(this.#path, FILE_MAX_BYTES));
    const kept = file.ok ? jsonObject(Buffer.from(file.value.bytes).toString()) : undefined;
    const names: unknown = kept?.['cookie'] === cookie ? kept['names'] : undefined;
    // Another life may have begun meanwhile.
    if (cookie !== this.#cookie) return;
    this.#names = new Set(Array.isArray(names) ? names.filter((name) => typeof name === 'string') : []);
  }

  readonly #write = new SharedWork(async () => {
    const text = JSON.stringify({ cookie: this.#cookie, names: [...this.#names] });
    try {
      await writeWhole(this.#path, `${text}\n`);
    } catch (error) {
      const fields = { path: this.#path, why: codeOf(error) };
      this.#log('debug', 'a restart will not know which outputs were seen', fields);
    }
  });
}
