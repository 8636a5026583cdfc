// Finds the sound server at the places where libpulse does: by PULSE_SERVER alone, else at the user's
// sockets, by `default-server` of client.conf, at the system's socket. It reads files and connects to
// nothing.

import { readFileSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { isAbsolute, join } from 'node:path';
import { systemClock } from '../../host/clock.js';
import { runtimeDirectory, type Variables, xdgDirectory } from '../../host/user-directories.js';
import { failed, type Result, success } from '../../protocol/actor/result.js';
import { inTime, readSmallFile } from '../small-file.js';
import { clipped } from '../text.js';

/** The places depend on the process's environment and user. */
export interface ServerContext {
  readonly env: Variables;
  readonly uid: number;
  /** '' if there is none. */
  readonly home: string;
  /** Undefined if unreadable: then addresses for other machines cannot be recognized. */
  readonly machineId: string | undefined;
}

/** The text that names a server, and where it stands. */
interface NamedServer {
  readonly by: string;
  readonly value: string;
}

export interface ServerSockets {
  /** In the order of trying, never empty. */
  readonly paths: readonly string[];
  /** A sentence about a named address that is no socket of this machine. */
  readonly elsewhere?: string;
}

/** The error is a sentence: the server that is named cannot be reached. No other one is taken instead. */
export type FoundServer = Result<ServerSockets, string>;

const SYSTEM_SOCKET = '/run/pulse/native';
const SYSTEM_CONFIGURATION = '/etc/pulse/client.conf';
const CONFIGURATION_MAX_BYTES = 64 * 1024;
/** Files of client.conf.d that are read, the first. */
const CONFIGURATION_MAX_FILES = 64;
/** Characters of an address in a detail. */
const ADDRESS_MAX_UNITS = 200;

const MACHINE_IDS = ['/etc/machine-id', '/var/lib/dbus/machine-id'];

export function readMachineId(): string | undefined {
  for (const path of MACHINE_IDS) {
    try {
      return readFileSync(path, 'utf8').trim();
    } catch {
      // The next one.
    }
  }
  return undefined;
}

/** To be called at each attempt: files may have changed. Never rejects. */
export async function findServer(context: ServerContext): Promise<FoundServer> {
  const value = context.env['PULSE_SERVER']?.trim();
  if (value) return namedSockets({ by: 'PULSE_SERVER', value }, context.machineId);
  return success(usualPlaces(context, await readDefaultServer(context.env, context.home)));
}

/** Used for PULSE_SERVER, which excludes all other places, as in libpulse. */
export function namedSockets(named: NamedServer, machineId: string | undefined): FoundServer {
  const addresses = addressesIn(named.value, machineId);
  const paths = [...new Set(addresses.filter(isAbsolute))];
  // TCP is left out, because the daemon controls its own node.
  const value = clipped(named.value, ADDRESS_MAX_UNITS);
  const elsewhere = `${named.by} is ${value}: tonearm speaks to a Unix socket only`;
  if (paths.length === 0) return failed(elsewhere);
  return success(addresses.every(isAbsolute) ? { paths } : { paths, elsewhere });
}

/**
 * `configured` is what client.conf names. No server of the system is taken instead of one that is elsewhere.
 */
export function usualPlaces(context: ServerContext, configured: NamedServer | undefined): ServerSockets {
  const own = userSockets(context);
  if (configured === undefined) return { paths: [...new Set([...own, SYSTEM_SOCKET])] };
  const named = namedSockets(configured, context.machineId);
  if (!named.ok) return { paths: own, elsewhere: named.error };
  return { ...named.value, paths: [...new Set([...own, ...named.value.paths, SYSTEM_SOCKET])] };
}

/** The addresses for this machine: between white space, some with a `{machine id}` before. */
function addressesIn(value: string, machineId: string | undefined): string[] {
  return value.split(/\s+/).flatMap((address) => {
    const [, machine = machineId, rest = ''] = /^(?:\{([^}]*)\})?(.*)$/.exec(address) ?? [];
    const isForUs = machineId === undefined || machine === machineId;
    return isForUs && rest !== '' ? [rest.replace(/^unix:(?=\/)/, '')] : [];
  });
}

function configurationHome(env: Variables, home: string): string | undefined {
  const named = xdgDirectory(env['XDG_CONFIG_HOME']);
  return named ?? (isAbsolute(home) ? join(home, '.config') : undefined);
}

function userSockets({ env, uid, home, machineId }: ServerContext): readonly string[] {
  const config = configurationHome(env, home);
  const folders = [
    env['PULSE_RUNTIME_PATH'] || undefined,
    `${runtimeDirectory(env, uid)}/pulse`,
    // libpulse makes this link where there is no runtime directory.
    config && machineId && `${config}/pulse/${machineId}-runtime`,
  ];
  const sockets = folders.flatMap((folder) => (folder ? [`${folder}/native`] : []));
  return [...new Set(sockets)];
}

/** The user's client.conf replaces that of /etc; the files of its client.conf.d add to it. */
async function readDefaultServer(env: Variables, home: string): Promise<NamedServer | undefined> {
  const config = configurationHome(env, home);
  const own = config === undefined ? [] : [join(config, 'pulse/client.conf')];
  const named = env['PULSE_CLIENTCONFIG'];
  for (const file of named ? [named] : own.concat(SYSTEM_CONFIGURATION)) {
    const text = await readText(file);
    if (text === undefined) continue;
    let server = defaultServerIn(file, text);
    for (const each of await filesIn(`${file}.d`)) {
      const later = defaultServerIn(each, (await readText(each)) ?? '');
      server = later ?? server;
    }
    return server?.value ? server : undefined;
  }
  return undefined;
}

/** Undefined if the file has no such line; an empty value takes back an earlier one. */
function defaultServerIn(file: string, text: string): NamedServer | undefined {
  const values = text.split('\n').flatMap((line) => /^\s*default-server\s*=([^#;]*)/.exec(line)?.[1] ?? []);
  const value = values.at(-1)?.trim();
  return value === undefined ? undefined : { by: `default-server of ${file}`, value };
}

async function readText(file: string): Promise<string | undefined> {
  const read = await inTime(systemClock, readSmallFile(file, CONFIGURATION_MAX_BYTES));
  return read.ok ? Buffer.from(read.value.bytes).toString() : undefined;
}

async function filesIn(folder: string): Promise<readonly string[]> {
  const names = await readdir(folder).catch((): string[] => []);
  const files = names.filter((name) => name.endsWith('.conf')).sort();
  return files.slice(0, CONFIGURATION_MAX_FILES).map((name) => join(folder, name));
}
