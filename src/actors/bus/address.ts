// Decides at which unix sockets the buses of user and system are looked for, by their addresses in the
// environment (D-Bus Specification, "Server Addresses"). Pure.

import { runtimeDirectory, type Variables } from '../../host/user-directories.js';
import { failed, type Result, success } from '../../protocol/actor/result.js';
import { percentDecodedText } from '../text.js';

/** The paths of sockets, in the order in which they are tried; or the reason why there are none. */
export type BusPaths = Result<readonly string[], string>;

const SYSTEM_BUS_PATH = '/var/run/dbus/system_bus_socket';
/**
 * dbus-next splits an address at these characters without decoding it, so a path must contain none of them.
 */
const UNUSABLE_IN_PATH = /[,:;=]/;

/** The path of one address, such as `unix:path=/run/user/1000/bus`, or why the address cannot be used. */
function pathOf(address: string, runtime: string): Result<string, string> {
  const [, transport = '', options = ''] = /^([^:]*):(.*)$/s.exec(address) ?? [];
  if (transport !== 'unix') return failed(`${address}: only unix sockets are supported`);
  const matches = options.matchAll(/([^,=]*)=?([^,]*)/g);
  const pairs = new Map(Array.from(matches, ([, key = '', value]) => [key, value] as const));
  if (pairs.has('abstract')) return failed(`${address}: abstract sockets are not supported`);
  const raw = pairs.get('runtime') === 'yes' ? `${runtime}/bus` : pairs.get('path');
  if (raw === undefined || raw === '') return failed(`${address}: it has no path`);
  const path = percentDecodedText(raw);
  if (path === undefined) return failed(`${address}: a percent escape is broken`);
  if (UNUSABLE_IN_PATH.test(path)) return failed(`${address}: a path with , : ; or = is not supported`);
  return success(path);
}

/** The paths of a list of addresses. An unusable address is an error only if no other is usable. */
function pathsOf(list: string, runtime: string): BusPaths {
  const results = list
    .split(';')
    .filter(Boolean)
    .map((address) => pathOf(address, runtime));
  const paths = results.flatMap((result) => (result.ok ? [result.value] : []));
  if (paths.length > 0) return success(paths);
  const reasons = results.flatMap((result) => (result.ok ? [] : [result.error]));
  return failed(reasons.join('; ') || 'the bus address is empty');
}

/**
 * The paths of the user's session bus. The path of the system's bus is left out, because units must not be
 * changed there (docs/security.md, "What the daemon defends").
 */
export function userBusPaths(env: Variables, uid: number): BusPaths {
  const runtime = runtimeDirectory(env, uid);
  const addresses = env['DBUS_SESSION_BUS_ADDRESS'] || `unix:path=${runtime}/bus`;
  const session = pathsOf(addresses, runtime);
  if (!session.ok) return session;
  const system = systemBusPaths(env, uid);
  const systemPaths = [...(system.ok ? system.value : []), SYSTEM_BUS_PATH].map(withoutVar);
  const paths = session.value.filter((path) => !systemPaths.includes(withoutVar(path)));
  if (paths.length > 0) return success(paths);
  return failed('the address of the session bus is that of the system bus');
}

export function systemBusPaths(env: Variables, uid: number): BusPaths {
  const addresses = env['DBUS_SYSTEM_BUS_ADDRESS'] || `unix:path=${SYSTEM_BUS_PATH}`;
  return pathsOf(addresses, runtimeDirectory(env, uid));
}

/** Spells /var/run and /run, which are one folder, in the same way, so that paths can be compared. */
function withoutVar(path: string): string {
  return path.replace(/^\/var\/run\//, '/run/').replaceAll(/\/+/g, '/');
}
