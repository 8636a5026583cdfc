// The bus's addresses from the environment, as paths of unix sockets (D-Bus Specification, "Server
// Addresses"). Pure.

import { runtimeDirectory, type Variables } from '../../host/user-directories.js';
import { failed, type Result, success } from '../../protocol/actor/result.js';
import { percentDecodedText } from '../text.js';

/** The paths, or why there is none. */
export type BusPaths = Result<readonly string[], string>;

const SYSTEM_BUS_PATH = '/var/run/dbus/system_bus_socket';
/** dbus-next splits addresses at these without decoding them, so it cannot take a path that contains one. */
const UNUSABLE_IN_PATH = /[,:;=]/;

function pathOf(address: string, runtime: string): Result<string, string> {
  const [, transport = '', rest = ''] = /^([^:]*):(.*)$/s.exec(address) ?? [];
  if (transport !== 'unix') return failed(`${address}: only unix sockets are supported`);
  const found = rest.matchAll(/([^,=]*)=?([^,]*)/g);
  const pairs = new Map(Array.from(found, ([, key = '', value]) => [key, value] as const));
  if (pairs.has('abstract')) return failed(`${address}: abstract sockets are not supported`);
  const raw = pairs.get('runtime') === 'yes' ? `${runtime}/bus` : pairs.get('path');
  if (raw === undefined || raw === '') return failed(`${address}: it has no path`);
  const path = percentDecodedText(raw);
  if (path === undefined) return failed(`${address}: a percent escape is broken`);
  if (UNUSABLE_IN_PATH.test(path)) return failed(`${address}: a path with , : ; or = is not supported`);
  return success(path);
}

/** The paths of a list of addresses; unusable ones are ignored while at least one is usable. */
function pathsOf(list: string, runtime: string): BusPaths {
  const found = list
    .split(';')
    .filter(Boolean)
    .map((address) => pathOf(address, runtime));
  const paths = found.flatMap((one) => (one.ok ? [one.value] : []));
  if (paths.length > 0) return success(paths);
  const reasons = found.flatMap((one) => (one.ok ? [] : [one.error]));
  return failed(reasons.join('; ') || 'the bus address is empty');
}

/**
 * Refuses a session bus that is the system's, where units must not be changed (docs/security.md, "What the
 * daemon defends").
 */
export function userBusPaths(env: Variables, uid: number): BusPaths {
  const runtime = runtimeDirectory(env, uid);
  const found = pathsOf(env['DBUS_SESSION_BUS_ADDRESS'] || `unix:path=${runtime}/bus`, runtime);
  if (!found.ok) return found;
  const system = systemBusPaths(env, uid);
  const systems = [...(system.ok ? system.value : []), SYSTEM_BUS_PATH].map(underRun);
  const paths = found.value.filter((path) => !systems.includes(underRun(path)));
  if (paths.length > 0) return success(paths);
  return failed('the address of the session bus is that of the system bus');
}

export function systemBusPaths(env: Variables, uid: number): BusPaths {
  const list = env['DBUS_SYSTEM_BUS_ADDRESS'] || `unix:path=${SYSTEM_BUS_PATH}`;
  return pathsOf(list, runtimeDirectory(env, uid));
}

/** Gives /var/run and /run, two names of one folder, the same spelling. */
function underRun(path: string): string {
  return path.replace(/^\/var\/run\//, '/run/').replaceAll(/\/+/g, '/');
}
