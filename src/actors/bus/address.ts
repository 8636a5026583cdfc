// Decides which unix sockets are tried for the user's bus and for the system's bus. The addresses of both
// buses are in the environment (D-Bus Specification, "Server Addresses"), or have a default. Pure.

import { runtimeDirectory, type Variables } from '../../host/user-directories.js';
import { failed, type Result, success } from '../../protocol/actor/result.js';
import { percentDecodedText } from '../text.js';

/** The paths of sockets, in the order in which they are tried; or the reason why there are none. */
export type BusPaths = Result<readonly string[], string>;

/**
 * The default address of the user's bus. It stands for the socket `bus` in the runtime folder. After
 * `unix:path=` the folder's path would have to be percent-encoded.
 */
const RUNTIME_ADDRESS = 'unix:runtime=yes';
const SYSTEM_BUS_PATH = '/var/run/dbus/system_bus_socket';
/**
 * No path may contain these characters, because dbus-next splits an address at them. They cannot be
 * percent-encoded, because dbus-next does not decode the address.
 */
const UNUSABLE_IN_PATH = /[,:;=]/;

/** The path of one address, such as `unix:path=/run/user/1000/bus`, or why the address cannot be used. */
function parseAddress(address: string, runtimeFolder: string): Result<string, string> {
  const [, transport = '', options = ''] = /^([^:]*):(.*)$/s.exec(address) ?? [];
  if (transport !== 'unix') return failed(`${address}: only unix sockets are supported`);
  // Each match is one `key=value`, such as `path=/run/user/1000/bus`.
  const matches = options.matchAll(/([^,=]*)=?([^,]*)/g);
  const pairs = new Map(Array.from(matches, ([, key = '', value]) => [key, value] as const));
  if (pairs.has('abstract')) return failed(`${address}: abstract sockets are not supported`);
  if (pairs.get('runtime') === 'yes') return usablePath(`${runtimeFolder}/bus`);
  const encodedPath = pairs.get('path');
  if (encodedPath === undefined || encodedPath === '') return failed(`${address}: it has no path`);
  const path = percentDecodedText(encodedPath);
  if (path === undefined) return failed(`${address}: a percent escape is broken`);
  return usablePath(path);
}

function usablePath(path: string): Result<string, string> {
  if (UNUSABLE_IN_PATH.test(path)) return failed(`${path}: a path with , : ; or = is not supported`);
  return success(path);
}

/** The paths of a list of addresses. Fails only if no address is usable. */
function parseAddresses(list: string, runtimeFolder: string): BusPaths {
  const paths: string[] = [];
  const reasons: string[] = [];
  for (const address of list.split(';').filter(Boolean)) {
    const path = parseAddress(address, runtimeFolder);
    if (path.ok) paths.push(path.value);
    else reasons.push(path.error);
  }
  if (paths.length > 0) return success(paths);
  return failed(reasons.join('; ') || 'the bus address is empty');
}

/**
 * The paths of the user's session bus. A path among them that leads to the system's bus is left out, because
 * the units of the system must not be changed (docs/security.md, "What the daemon defends").
 */
export function userBusPaths(env: Variables, uid: number): BusPaths {
  const runtimeFolder = runtimeDirectory(env, uid);
  const addresses = env['DBUS_SESSION_BUS_ADDRESS'] || RUNTIME_ADDRESS;
  const session = parseAddresses(addresses, runtimeFolder);
  if (!session.ok) return session;
  const system = systemBusPaths(env, uid);
  const configuredSystemPaths = system.ok ? system.value : [];
  const systemPaths = [...configuredSystemPaths, SYSTEM_BUS_PATH].map(comparablePath);
  const paths = session.value.filter((path) => !systemPaths.includes(comparablePath(path)));
  if (paths.length > 0) return success(paths);
  return failed('the address of the session bus is that of the system bus');
}

export function systemBusPaths(env: Variables, uid: number): BusPaths {
  const addresses = env['DBUS_SYSTEM_BUS_ADDRESS'] || `unix:path=${SYSTEM_BUS_PATH}`;
  return parseAddresses(addresses, runtimeDirectory(env, uid));
}

/** The path in one spelling, because /var/run and /run are one folder. */
function comparablePath(path: string): string {
  return path.replaceAll(/\/+/g, '/').replace(/^\/var\/run\//, '/run/');
}
