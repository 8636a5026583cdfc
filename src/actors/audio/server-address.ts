// Decides at which sockets the sound server may be, and in which order they are tried. It reads files and
// connects to nothing.

import { readFileSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { isAbsolute, join } from 'node:path';
import { systemClock, within } from '../../host/clock.js';
import { runtimeDirectory, type Variables, xdgDirectory } from '../../host/user-directories.js';
import { clipped } from '../../printable.js';
import { failed, type Result, success } from '../../protocol/actor/result.js';
import { FILE_WAIT_MAX_MS, readInTime, readSmallFile } from '../small-file.js';

/** The sockets depend on these facts about the process and the machine. */
export interface ServerContext {
  readonly env: Variables;
  readonly uid: number;
  /** The home directory; '' if there is none. */
  readonly home: string;
  /** Undefined if it cannot be read. Then all addresses count as addresses of this machine. */
  readonly machineId: string | undefined;
}

interface ConfiguredServer {
  /** The place of the addresses, as `addressProblem` names it: `PULSE_SERVER` or `default-server of FILE`. */
  readonly origin: string;
  readonly addressText: string;
}

export interface ServerSockets {
  /** In the order in which they are tried. Never empty. */
  readonly paths: readonly string[];
  /** A sentence about a configured address that is left out, because it is no socket of this machine. */
  readonly addressProblem?: string;
}

/** The error is a sentence for people: no configured address is a socket of this machine. */
export type FoundServer = Result<ServerSockets, string>;

const SYSTEM_SOCKET = '/run/pulse/native';
/**
 * The first of these files in the home directory that can be read counts. In libpulse, `XDG_CONFIG_HOME` does
 * not move them either. If `PULSE_CONFIG_PATH` names a folder, client.conf of that folder is read instead of
 * these files.
 */
const USER_CONFIGURATIONS = ['.pulse/client.conf', '.config/pulse/client.conf'];
const SYSTEM_CONFIGURATION = '/etc/pulse/client.conf';
const CONFIGURATION_MAX_BYTES = 64 * 1024;
/** At most this many files of client.conf.d are read: the first ones by name. */
const CONFIGURATION_MAX_FILES = 64;
/** A detail in /health has at most this much of a configured text, in UTF-16 units. */
const ADDRESS_MAX_UNITS = 200;

const MACHINE_IDS = ['/etc/machine-id', '/var/lib/dbus/machine-id'];

/**
 * Undefined if no file has an id. In a system image that has never been started, /etc/machine-id is empty.
 */
export function readMachineId(files: readonly string[] = MACHINE_IDS): string | undefined {
  for (const path of files) {
    try {
      const id = readFileSync(path, 'utf8').trim();
      if (id !== '') return id;
    } catch {
      // The next file may have it.
    }
  }
  return undefined;
}

/**
 * If PULSE_SERVER is set, only its sockets count, as in libpulse. To be called at each attempt to connect,
 * because files may have changed. Never rejects.
 */
export async function findServer(context: ServerContext): Promise<FoundServer> {
  const addressText = context.env['PULSE_SERVER']?.trim();
  if (addressText) return configuredSockets({ origin: 'PULSE_SERVER', addressText }, context.machineId);
  return success(usualSockets(context, await readDefaultServer(context.env, context.home)));
}

/** Fails if none of the addresses is a socket of this machine. */
export function configuredSockets(server: ConfiguredServer, machineId: string | undefined): FoundServer {
  const addresses = serverAddressesIn(server.addressText, machineId);
  // TCP addresses are left out, because the daemon controls only its own node.
  const paths = [...new Set(addresses.filter(isAbsolute))];
  const text = clipped(server.addressText, ADDRESS_MAX_UNITS);
  const addressProblem = `${server.origin} is ${text}: tonearm speaks to a Unix socket only`;
  if (paths.length === 0) return failed(addressProblem);
  const areAllSockets = addresses.every(isAbsolute);
  return success(areAllSockets ? { paths } : { paths, addressProblem });
}

/**
 * The user's sockets come first, then those of `defaultServer` from client.conf, then the system's socket.
 * If `defaultServer` has no socket of this machine, it still ends the search, so the system's socket is left
 * out.
 */
export function usualSockets(
  context: ServerContext,
  defaultServer: ConfiguredServer | undefined,
): ServerSockets {
  const userPaths = userSockets(context);
  if (defaultServer === undefined) return { paths: [...new Set([...userPaths, SYSTEM_SOCKET])] };
  const configured = configuredSockets(defaultServer, context.machineId);
  if (!configured.ok) return { paths: userPaths, addressProblem: configured.error };
  const paths = new Set([...userPaths, ...configured.value.paths, SYSTEM_SOCKET]);
  return { ...configured.value, paths: [...paths] };
}

/**
 * The addresses for this machine, without a `unix:` that stands before an absolute path. In `text` a machine
 * id may stand before each address, as in `{3f2a}unix:/run/pulse/native`.
 */
function serverAddressesIn(text: string, machineId: string | undefined): readonly string[] {
  const addresses: string[] = [];
  for (const word of text.split(/\s+/)) {
    const parts = /^(?:\{(?<machine>[^}]*)\})?(?<address>.*)$/.exec(word)?.groups;
    const machine = parts?.['machine'];
    const address = parts?.['address'] ?? '';
    const isForThisMachine = machine === undefined || machineId === undefined || machine === machineId;
    if (isForThisMachine && address !== '') addresses.push(address.replace(/^unix:(?=\/)/, ''));
  }
  return addresses;
}

function configurationHome(env: Variables, home: string): string | undefined {
  const xdgHome = xdgDirectory(env['XDG_CONFIG_HOME']);
  return xdgHome ?? (isAbsolute(home) ? join(home, '.config') : undefined);
}

function userSockets({ env, uid, home, machineId }: ServerContext): readonly string[] {
  const folders = [`${runtimeDirectory(env, uid)}/pulse`];
  const runtimePath = env['PULSE_RUNTIME_PATH'];
  if (runtimePath) folders.unshift(runtimePath);
  // libpulse makes the symbolic link `MACHINE_ID-runtime` if there is no runtime directory.
  const config = configurationHome(env, home);
  if (config && machineId) folders.push(`${config}/pulse/${machineId}-runtime`);
  return [...new Set(folders.map((folder) => `${folder}/native`))];
}

/**
 * Reads the line `default-server`. The user's client.conf replaces that of /etc, and a file that
 * `PULSE_CLIENTCONFIG` names replaces both. The files in the folder `FILE.d` are read after the file `FILE`,
 * for example those in client.conf.d after client.conf.
 */
async function readDefaultServer(env: Variables, home: string): Promise<ConfiguredServer | undefined> {
  const onlyFile = env['PULSE_CLIENTCONFIG'];
  const candidates = onlyFile ? [onlyFile] : [...userConfigurations(env, home), SYSTEM_CONFIGURATION];
  for (const file of candidates) {
    const text = await readText(file);
    if (text === undefined) continue;
    let server = defaultServerIn(file, text);
    // The last file that has the line decides.
    for (const addedFile of await configurationFilesIn(`${file}.d`)) {
      const addedText = (await readText(addedFile)) ?? '';
      server = defaultServerIn(addedFile, addedText) ?? server;
    }
    // The address is empty if the last line cancels the earlier ones.
    return server?.addressText ? server : undefined;
  }
  return undefined;
}

function userConfigurations(env: Variables, home: string): readonly string[] {
  const onlyFolder = env['PULSE_CONFIG_PATH'];
  if (onlyFolder) return [join(onlyFolder, 'client.conf')];
  return isAbsolute(home) ? USER_CONFIGURATIONS.map((file) => join(home, file)) : [];
}

/**
 * Undefined if the text has no line such as `default-server = unix:/run/pulse/native`. The value ends where
 * a comment begins, at `#` or `;`. A line with an empty value cancels an earlier line.
 */
function defaultServerIn(file: string, text: string): ConfiguredServer | undefined {
  let addressText: string | undefined;
  for (const line of text.split('\n')) {
    const value = /^\s*default-server\s*=([^#;]*)/.exec(line)?.[1];
    if (value !== undefined) addressText = value.trim();
  }
  return addressText === undefined ? undefined : { origin: `default-server of ${file}`, addressText };
}

async function readText(file: string): Promise<string | undefined> {
  const read = await readInTime(systemClock, readSmallFile(file, CONFIGURATION_MAX_BYTES));
  return read.ok ? Buffer.from(read.value.bytes).toString() : undefined;
}

async function configurationFilesIn(folder: string): Promise<readonly string[]> {
  const reading = readdir(folder).catch((): string[] => []);
  const names = (await within(systemClock, FILE_WAIT_MAX_MS, reading)) ?? [];
  const files = names.filter((name) => name.endsWith('.conf')).sort();
  return files.slice(0, CONFIGURATION_MAX_FILES).map((name) => join(folder, name));
}
