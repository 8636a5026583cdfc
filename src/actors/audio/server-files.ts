// Finds and reads the sound server's cookie, and waits for its socket. Both happen at each attempt to
// connect, because a login or a unit may create these files meanwhile. The cookie's bytes go only to the
// server and to the one route that serves them, never into a log or a detail (docs/security.md, "What the
// daemon defends").

import { isAbsolute, join } from 'node:path';
import { systemClock, within } from '../../host/clock.js';
import type { Variables } from '../../host/user-directories.js';
import { fileIdentity, PathWatch } from '../path-watch.js';
import { READ_MAX_MS, readSmallFile } from '../small-file.js';

/** How long a new file may need until it is complete. A socket is complete as soon as it exists. */
const SETTLE_MS = 0;

/** A socket to wait for. */
export interface AwaitedSocket {
  readonly path: string;
  /**
   * The `fileIdentity` of the socket before the attempt to connect; undefined if there was no socket. The
   * socket of a new server has another identity.
   */
  readonly before: string | undefined;
}

function isNew({ path, before }: AwaitedSocket): boolean {
  const now = fileIdentity(path);
  return now !== undefined && now !== before;
}

/**
 * Resolves with true as soon as a socket appears or is replaced; with false after `delayMs`, or at once if
 * the signal is aborted.
 */
export function socketOrDelay(
  awaited: readonly AwaitedSocket[],
  delayMs: number,
  signal: AbortSignal,
): Promise<boolean> {
  return new Promise((resolve) => {
    const end = (hasAppeared: boolean) => {
      clearTimeout(timer);
      signal.removeEventListener('abort', giveUp);
      for (const watch of watches) watch.close();
      resolve(hasAppeared);
    };
    const giveUp = () => end(false);
    const timer = setTimeout(giveUp, delayMs);
    const check = () => {
      if (awaited.some(isNew)) end(true);
    };
    const watches = awaited.map(({ path }) => new PathWatch(path, check, SETTLE_MS));
    signal.addEventListener('abort', giveUp);
    // The watches do not report changes made before they were set.
    if (signal.aborted) end(false);
    else check();
  });
}

/** PulseAudio and PipeWire refuse a cookie of another length, even where they do not compare its content. */
export const COOKIE_BYTES = 256;

/**
 * Paths in libpulse's order. Without a home directory (`home` is '') only those of the environment are left.
 */
export function cookiePaths(env: Variables, home: string): readonly string[] {
  const config = env['XDG_CONFIG_HOME'] || join(home, '.config');
  const named = env['PULSE_COOKIE'];
  const usual = [join(config, 'pulse', 'cookie'), join(home, '.pulse-cookie')];
  // libpulse takes a relative name below the configuration directory.
  const paths = named ? [isAbsolute(named) ? named : join(config, named), ...usual] : usual;
  // A path that is still relative would depend on the directory in which the daemon was started.
  return paths.filter((path) => isAbsolute(path));
}

/**
 * The cookie in the first regular file that has the right size. Undefined if there is none, or if the files
 * cannot be read in time.
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
