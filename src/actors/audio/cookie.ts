// The sound server's cookie file: where it may lie, and reading it. Its bytes go to the server and to the one route
// that serves them, never into a log or a detail (contract, section 6).

import { isAbsolute, join } from 'node:path';
import { readSmallFile } from '../small-file.js';
import type { Environment } from './address.js';

/** Both servers refuse any other length, even where they do not compare the content. */
export const COOKIE_BYTES = 256;

/** Places to look, in libpulse's order. `home` is '' where there is none: then only what is named by the environment is left. */
export function cookiePaths(env: Environment, home: string): readonly string[] {
  const config = env['XDG_CONFIG_HOME'] || join(home, '.config');
  const named = env['PULSE_COOKIE'];
  const usual = [join(config, 'pulse', 'cookie'), join(home, '.pulse-cookie')];
  // A relative name is taken below the configuration directory, as libpulse does.
  const places = named ? [isAbsolute(named) ? named : join(config, named), ...usual] : usual;
  // What is relative all the same would be looked for wherever the daemon was started.
  return places.filter((path) => isAbsolute(path));
}

/** The first file of the right size; one that is missing, of another kind or of another size is passed over. */
export async function readCookie(paths: readonly string[]): Promise<Uint8Array | undefined> {
  for (const path of paths) {
    const file = await readSmallFile(path, COOKIE_BYTES);
    if (file.ok && file.bytes.length === COOKIE_BYTES) return file.bytes;
  }
  return undefined;
}

/**
 * Reads the cookie for everybody who wants it, once at a time: where the home is on a network that does not answer, each reading
 * holds one of the few threads that the process has for files, and that may be for ever.
 */
export class CookieReader {
  readonly #readAnew: () => Promise<Uint8Array | undefined>;
  readonly #waitMs: number;
  #reading: Promise<Uint8Array | undefined> | undefined;

  /** `readAnew` must not reject. */
  constructor(readAnew: () => Promise<Uint8Array | undefined>, waitMs: number) {
    this.#readAnew = readAnew;
    this.#waitMs = waitMs;
  }

  /** undefined when there is none, or none in time. */
  read(): Promise<Uint8Array | undefined> {
    this.#reading ??= this.#readAnew().finally(() => {
      this.#reading = undefined;
    });
    const reading = this.#reading;
    return new Promise((resolve) => {
      const timer = setTimeout(() => resolve(undefined), this.#waitMs);
      void reading.then((cookie) => {
        clearTimeout(timer);
        resolve(cookie);
      });
    });
  }
}
