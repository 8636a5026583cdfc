// Waits for the sound server's socket, and reads the cookie that the server demands of its clients. The
// cookie's bytes go only to the server and to the one route that serves them, never into a log or the detail
// of a fault (docs/security.md, "What the daemon defends").

import { isAbsolute, join } from 'node:path';
import { systemClock, within } from '../../host/clock.js';
import type { Variables } from '../../host/user-directories.js';
import { fileIdentity, PathWatch } from '../path-watch.js';
import { FILE_WAIT_MAX_MS, readSmallFile } from '../small-file.js';

/**
 * A watch waits this long before it reports a new file, so that the file is complete. A socket is complete as
 * soon as it exists.
 */
const SOCKET_SETTLE_MS = 0;

export interface AwaitedSocket {
  readonly path: string;
  /** The `fileIdentity` of the socket before the attempt to connect; undefined if there was no socket. */
  readonly identityBefore: string | undefined;
}

function isNew({ path, identityBefore }: AwaitedSocket): boolean {
  const identity = fileIdentity(path);
  return identity !== undefined && identity !== identityBefore;
}

/**
 * Resolves with true as soon as a socket appears or is replaced. Resolves with false after `delayMs`, or when
 * the signal is aborted.
 */
export function waitForSocket(
  awaited: readonly AwaitedSocket[],
  delayMs: number,
  signal: AbortSignal,
): Promise<boolean> {
  return new Promise((resolve) => {
    // `timer` and `watches` are declared below, but nothing calls `end` before they have their values.
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
    const watches = awaited.map(({ path }) => new PathWatch(path, check, SOCKET_SETTLE_MS));
    signal.addEventListener('abort', giveUp);
    // The signal may have been aborted before the listener was added, and a socket may have appeared before
    // it was watched. Neither is reported, so both are checked here.
    if (signal.aborted) end(false);
    else check();
  });
}

/** PulseAudio and PipeWire refuse a cookie of another length, even where they do not compare its content. */
export const COOKIE_BYTES = 256;

/**
 * The paths at which the cookie may be, in libpulse's order. Without a home directory (`home` is ''), only
 * the paths from the environment are left.
 */
export function cookiePaths(env: Variables, home: string): readonly string[] {
  const config = join(env['XDG_CONFIG_HOME'] || join(home, '.config'), 'pulse');
  const paths = [join(config, 'cookie'), join(home, '.pulse-cookie')];
  const chosen = env['PULSE_COOKIE'];
  // In libpulse, a relative path begins in the folder `pulse` of the configuration directory.
  if (chosen) paths.unshift(isAbsolute(chosen) ? chosen : join(config, chosen));
  // A path that is still relative would depend on the directory in which the daemon was started.
  return paths.filter((path) => isAbsolute(path));
}

/**
 * Reads the first regular file that has the right size. Resolves with undefined if there is none, or if the
 * files cannot be read in time. To be called each time that the cookie is needed, because a login or a unit
 * may create the file later.
 */
export function readCookie(paths: readonly string[]): Promise<Uint8Array | undefined> {
  return within(systemClock, FILE_WAIT_MAX_MS, firstCookie(paths));
}

async function firstCookie(paths: readonly string[]): Promise<Uint8Array | undefined> {
  for (const path of paths) {
    const file = await readSmallFile(path, COOKIE_BYTES);
    if (file.ok && file.value.bytes.length === COOKIE_BYTES) return file.value.bytes;
  }
  return undefined;
}
