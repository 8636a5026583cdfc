// The sound server's files: where its socket and its cookie may lie, reading the one and waiting for the other. Looked for anew at
// each attempt, because a login or a unit may change what exists while the daemon waits. Whether anybody listens at a socket is
// found out by connecting. The cookie's bytes go to the server and to the one route that serves them, never into a log or a
// detail (docs/security.md, "What the daemon defends").

import { readFileSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';
import { runtimeDirectory, type Variables } from '../../user-directories.js';
import { fileIdentity, PathWatch } from '../path-watch.js';
import { readSmallFile } from '../small-file.js';

/**
 * One value of `PULSE_SERVER` for this machine, as libpulse reads it: addresses separated by white space, each perhaps preceded by the
 * machine it is meant for in braces. An absolute path is a unix socket's.
 */
function addressesIn(value: string, machineId: string | undefined): string[] {
  const addresses: string[] = [];
  for (const address of value.split(/\s+/)) {
    const [, machine, rest = ''] = /^(?:\{([^}]*)\})?(.*)$/.exec(address) ?? [];
    if (machine !== undefined && machineId !== undefined && machine !== machineId) continue;
    if (rest !== '') addresses.push(rest.startsWith('unix:/') ? rest.slice('unix:'.length) : rest);
  }
  return addresses;
}

/**
 * Where `PULSE_SERVER` leads programs, and nobody who looks at `candidatePaths`: to an address of another kind, or, where all are
 * another machine's, to no server at all.
 */
export function otherServer({ PULSE_SERVER: value = '' }: Variables, machineId?: string): string | undefined {
  const addresses = addressesIn(value, machineId);
  const isForOthers = addresses.length === 0 && value.trim() !== '';
  return isForOthers ? value.trim() : addresses.find((address) => !isAbsolute(address));
}

/** Undefined where it cannot be read: then addresses for other machines are not told apart. */
export function readMachineId(): string | undefined {
  try {
    return readFileSync('/etc/machine-id', 'utf8').trim();
  } catch {
    return undefined;
  }
}

/**
 * Socket paths in the order in which they are tried; never empty. Other kinds of address (tcp) are left out: this daemon controls
 * its own node. A unix path in `PULSE_SERVER` excludes the others,
 * as in libpulse: the administrator has named the server, and another one would be the wrong one.
 */
export function candidatePaths(env: Variables, uid: number, machineId?: string): readonly string[] {
  const named = addressesIn(env['PULSE_SERVER'] ?? '', machineId).filter(isAbsolute);
  if (named.length > 0) return [...new Set(named)];
  const runtime = env['PULSE_RUNTIME_PATH'];
  const usual = `${runtimeDirectory(env, uid)}/pulse/native`;
  return runtime ? [...new Set([`${runtime}/native`, usual])] : [usual];
}

/** A socket is whole as soon as it is there: no time to settle. */
const SETTLE_MS = 0;

/** A socket to wait for, with its `fileIdentity` before the attempt that failed: a server that restarts leaves another one. */
export interface AwaitedSocket {
  readonly path: string;
  readonly before: string | undefined;
}

/**
 * Waits for `delayMs`, or less if a socket appears or is replaced. Resolves to whether one did; at once, to false, when
 * the signal is aborted.
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
    const watches = awaited.map(({ path, before }) => {
      const onChange = () => {
        if (![undefined, before].includes(fileIdentity(path))) end(true);
      };
      return new PathWatch(path, onChange, { settleMs: SETTLE_MS });
    });
    signal.addEventListener('abort', aborted);
    // What happened before the watches were set is not told by them.
    const appeared = awaited.some(({ path, before }) => ![undefined, before].includes(fileIdentity(path)));
    if (signal.aborted || appeared) end(!signal.aborted);
  });
}

/**
 * Calls `replaced`, once, when another file lies at `path` than now: a server that hangs in the handshake must not keep us
 * from the one that has taken its place. Answers with what ends the watch.
 */
export function onReplaced(path: string, replaced: () => void): () => void {
  const before = fileIdentity(path);
  const onChange = () => {
    if ([undefined, before].includes(fileIdentity(path))) return;
    watch.close();
    replaced();
  };
  const watch = new PathWatch(path, onChange, { settleMs: SETTLE_MS });
  return () => watch.close();
}

/** Both servers refuse any other length, even where they do not compare the content. */
export const COOKIE_BYTES = 256;

/** Places to look, in libpulse's order. `home` is '' where there is none: then only what is named by the environment is left. */
export function cookiePaths(env: Variables, home: string): readonly string[] {
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
