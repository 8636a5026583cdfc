// The sound server's cookie file: where it may lie, and reading it. Its bytes go to the server and to the one route
// that serves them, never into a log or a detail (contract, section 6).

import { open } from 'node:fs/promises';
import { isAbsolute, join } from 'node:path';
import type { Environment } from './address.js';

/** Both servers refuse any other length, even where they do not compare the content. */
export const COOKIE_BYTES = 256;

/** Places to look, in libpulse's order. */
export function cookiePaths(env: Environment, home: string): readonly string[] {
  const config = env['XDG_CONFIG_HOME'] || join(home, '.config');
  const named = env['PULSE_COOKIE'];
  const usual = [join(config, 'pulse', 'cookie'), join(home, '.pulse-cookie')];
  // A relative name is taken below the configuration directory, as libpulse does.
  return named ? [isAbsolute(named) ? named : join(config, named), ...usual] : usual;
}

async function readWhole(path: string): Promise<Uint8Array | undefined> {
  const file = await open(path, 'r');
  try {
    // One byte more than wanted shows that a file is too long, without reading all of it.
    const buffer = Buffer.alloc(COOKIE_BYTES + 1);
    let filled = 0;
    while (filled < buffer.length) {
      const { bytesRead } = await file.read(buffer, filled, buffer.length - filled, filled);
      if (bytesRead === 0) break;
      filled += bytesRead;
    }
    return filled === COOKIE_BYTES ? Uint8Array.prototype.slice.call(buffer, 0, COOKIE_BYTES) : undefined;
  } finally {
    await file.close();
  }
}

/** The first file of the right size; one that is missing, unreadable or of another size is passed over. */
export async function readCookie(paths: readonly string[]): Promise<Uint8Array | undefined> {
  for (const path of paths) {
    const cookie = await readWhole(path).catch(() => undefined);
    if (cookie !== undefined) return cookie;
  }
  return undefined;
}
