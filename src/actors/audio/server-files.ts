// Finds and reads the sound server's cookie, and waits for its socket; at each attempt anew, because a login
// or a unit may create them meanwhile. It does not connect. The cookie's bytes go only to the server and to
// the one route that serves them, never into a log or a detail (docs/security.md, "What the daemon defends").

import { isAbsolute, join } from 'node:path';
import { systemClock, within } from '../../host/clock.js';
import type { Variables } from '../../host/user-directories.js';
import { fileIdentity, PathWatch } from '../path-watch.js';
import { READ_MAX_MS, readSmallFile } from '../small-file.js';

/** A socket is complete as soon as it exists, so no time to settle is needed. */
const SETTLE_MS = 0;

/**
 * A socket to wait for, with its `fileIdentity` before the failed attempt: a restarted server creates a new
 * one.
 */
export interface AwaitedSocket {
  readonly path: string;
  readonly before: string | undefined;
}

function isNew({ path, before }: AwaitedSocket): boolean {
  return ![undefined, before].includes(fileIdentity(path));
}

/**
 * Waits for `delayMs`. Resolves to true sooner if a socket appears or is replaced; to false at once if the
 * signal is aborted.
 */
export function socketOrDelay(
  awaited: readonly AwaitedSocket[],
  delayMs: number,
  signal: AbortSignal,
): Promise<boolean> {
  return new Promise((resolve) => {
    const end = (appeared: boolean) => {
      clearTimeout(timer);
      signal.removeEventListener('abort', aborted);
      for (const watch of watches) watch.close();
      resolve(appeared);
    };
    const aborted = () => end(false);
    const timer = setTimeout(aborted, delayMs);
    const check = () => {
      if (awaited.some(isNew)) end(true);
    };
    const watches = awaited.map(({ path }) => new PathWatch(path, check, SETTLE_MS));
    signal.addEventListener('abort', aborted);
    // The watches do not report changes made before they were set.
    if (signal.aborted) end(false);
    else check();
  });
}

/** Both servers refuse any other length, even where they do not compare the content. */
export const COOKIE_BYTES = 256;

/**
 * Paths in libpulse's order. `home` is '' if there is none: then only paths from the environment are left.
 */
export function cookiePaths(env: Variables, home: string): readonly string[] {
  const config = env['XDG_CONFIG_HOME'] || join(home, '.config');
  const named = env['PULSE_COOKIE'];
  const usual = [join(config, 'pulse', 'cookie'), join(home, '.pulse-cookie')];
  // libpulse takes a relative name below the configuration directory.
  const places = named ? [isAbsolute(named) ? named : join(config, named), ...usual] : usual;
  // A path that is still relative would depend on the directory in which the daemon was started.
  return places.filter((path) => isAbsolute(path));
}

/**
 * The first file of the right size; files that are missing, not regular, of another size or not read in time
 * are skipped.
 */
export function readCookie(paths: readonly string[]): Promise<Uint8Array | undefined> {
  return within(systemClock, READ_MAX_MS, firstCookie(paths));
}

async function firstCookie(paths: readonly string[]): Promise<Uint8Array | undefined> {
  for (const path of paths) {
    const file = await readSmallFile(path, COOKIE_BYTES);
    if (file.ok && file.value.bytes.length === COOKIE_BYTES) return file.value.bytes;
  }
  return undefined;
}
