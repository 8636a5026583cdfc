// Finds the sockets at which the sound server may be. If PULSE_SERVER is set, only its sockets count, as in
// libpulse. Otherwise the user's sockets come first, then those of `default-server` in client.conf, then the
// system's. It reads files and connects to nothing.

import { readFileSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { isAbsolute, join } from 'node:path';
import { systemClock, within } from '../../host/clock.js';
import { runtimeDirectory, type Variables, xdgDirectory } from '../../host/user-directories.js';
import { failed, type Result, success } from '../../protocol/actor/result.js';
import { READ_MAX_MS, readInTime, readSmallFile } from '../small-file.js';
import { clipped } from '../text.js';

/** The sockets depend on these facts about the process and the machine. */
export interface ServerContext {
  readonly env: Variables;
  readonly uid: number;
  /** The home directory; '' if there is none. */
  readonly home: string;
  /** Undefined if it cannot be read: then all addresses count as addresses of this machine. */
  readonly machineId: string | undefined;
}

/** A configured text with the addresses of a server. */
interface NamedServer {
  /** Where the text stands, for people. */
  readonly by: string;
  readonly value: string;
}

export interface ServerSockets {
  /** In the order of trying, never empty. */
  readonly paths: readonly string[];
  /** A sentence about a configured address that is left out, because it is no socket of this machine. */
  readonly addressProblem?: string;
}

/**
 * The error is a sentence. It means that the configured server cannot be reached, and that no other is taken
 * instead.
 */
export type FoundServer = Result<ServerSockets, string>;

const SYSTEM_SOCKET = '/run/pulse/native';
const SYSTEM_CONFIGURATION = '/etc/pulse/client.conf';
const CONFIGURATION_MAX_BYTES = 64 * 1024;
/** At most this many files of client.conf.d are read: the first ones by name. */
const CONFIGURATION_MAX_FILES = 64;
/** The most UTF-16 units that a detail has of an address. */
const ADDRESS_MAX_UNITS = 200;

const MACHINE_IDS = ['/etc/machine-id', '/var/lib/dbus/machine-id'];

export function readMachineId(): string | undefined {
  for (const path of MACHINE_IDS) {
    try {
      return readFileSync(path, 'utf8').trim();
    } catch {
      // The next file may have it.
    }
  }
  return undefined;
}

/** To be called at each attempt to connect, because files may have changed. Never rejects. */
export async function findServer(context: ServerContext): Promise<FoundServer> {
  const value = context.env['PULSE_SERVER']?.trim();
  if (value) return namedSockets({ by: 'PULSE_SERVER', value }, context.machineId);
  return success(usualPlaces(context, await readDefaultServer(context.env, context.home)));
}

/** Finds the sockets in a configured text; an error if none of its addresses is a socket of this machine. */
export function namedSockets(named: NamedServer, machineId: string | undefined): FoundServer {
  const addresses = addressesIn(named.value, machineId);
  // Addresses of TCP are left out, because the daemon controls only its own node.
  const paths = [...new Set(addresses.filter(isAbsolute))];
  const value = clipped(named.value, ADDRESS_MAX_UNITS);
  const addressProblem = `${named.by} is ${value}: tonearm speaks to a Unix socket only`;
  if (paths.length === 0) return failed(addressProblem);
  return success(addresses.every(isAbsolute) ? { paths } : { paths, addressProblem });
}

/**
 * `configured` is the `default-server` of client.conf. If that is no socket of this machine, the system's
 * socket is not taken instead.
 */
export function usualPlaces(context: ServerContext, configured: NamedServer | undefined): ServerSockets {
  const own = userSockets(context);
  if (configured === undefined) return { paths: [...new Set([...own, SYSTEM_SOCKET])] };
  const named = namedSockets(configured, context.machineId);
  if (!named.ok) return { paths: own, addressProblem: named.error };
  return { ...named.value, paths: [...new Set([...own, ...named.value.paths, SYSTEM_SOCKET])] };
}

/**
 * The addresses for this machine. White space separates them, and a `{machine id}` may stand before each.
 */
function addressesIn(value: string, machineId: string | undefined): string[] {
  return value.split(/\s+/).flatMap((address) => {
    const [, machine = machineId, place = ''] = /^(?:\{([^}]*)\})?(.*)$/.exec(address) ?? [];
    const isForUs = machineId === undefined || machine === machineId;
    return isForUs && place !== '' ? [place.replace(/^unix:(?=\/)/, '')] : [];
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
  const usable = folders.filter((folder) => folder !== undefined && folder !== '');
  return [...new Set(usable.map((folder) => `${folder}/native`))];
}

/**
 * Reads `default-server`. The user's client.conf replaces that of /etc; each of the two has a client.conf.d
 * beside it, whose files add to it.
 */
async function readDefaultServer(env: Variables, home: string): Promise<NamedServer | undefined> {
  const config = configurationHome(env, home);
  const own = config === undefined ? [] : [join(config, 'pulse/client.conf')];
  const named = env['PULSE_CLIENTCONFIG'];
  const candidates = named ? [named] : own.concat(SYSTEM_CONFIGURATION);
  for (const file of candidates) {
    const text = await readText(file);
    if (text === undefined) continue;
    let server = defaultServerIn(file, text);
    // The last file that has the line decides.
    for (const addition of await filesIn(`${file}.d`))
      server = defaultServerIn(addition, (await readText(addition)) ?? '') ?? server;
    return server?.value ? server : undefined;
  }
  return undefined;
}

/** Undefined if the text has no such line. An empty value takes an earlier one back. */
function defaultServerIn(file: string, text: string): NamedServer | undefined {
  const values = text.split('\n').flatMap((line) => /^\s*default-server\s*=([^#;]*)/.exec(line)?.[1] ?? []);
  const value = values.at(-1)?.trim();
  return value === undefined ? undefined : { by: `default-server of ${file}`, value };
}

async function readText(file: string): Promise<string | undefined> {
  const read = await readInTime(systemClock, readSmallFile(file, CONFIGURATION_MAX_BYTES));
  return read.ok ? Buffer.from(read.value.bytes).toString() : undefined;
}

async function filesIn(folder: string): Promise<readonly string[]> {
  const reading = readdir(folder).catch((): string[] => []);
  const names = (await within(systemClock, READ_MAX_MS, reading)) ?? [];
  const files = names.filter((name) => name.endsWith('.conf')).sort();
  return files.slice(0, CONFIGURATION_MAX_FILES).map((name) => join(folder, name));
}
