// Where the sound server's socket may lie. Pure: the environment is an argument, and nothing here looks at the disk.
// Resolved anew at each attempt, because a login or a unit may change what exists while the daemon waits.

import { runtimeDirectory } from '../../runtime-directory.js';

export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The unix sockets in one value of `PULSE_SERVER`: addresses separated by white space, each perhaps preceded by the
 * machine it is meant for in braces, as libpulse reads it. Other kinds of address (tcp) are left out: this daemon
 * controls its own node.
 */
function unixAddresses(value: string, machineId: string | undefined): string[] {
  const paths: string[] = [];
  for (const address of value.split(/\s+/)) {
    const [, machine, rest = ''] = /^(?:\{([^}]*)\})?(.*)$/.exec(address) ?? [];
    if (machine !== undefined && machineId !== undefined && machine !== machineId) continue;
    const path = rest.startsWith('unix:') ? rest.slice('unix:'.length) : rest;
    if (path.startsWith('/')) paths.push(path);
  }
  return paths;
}

/**
 * Socket paths in the order in which they are tried; never empty. A unix path in `PULSE_SERVER` excludes the others,
 * as in libpulse: the administrator has named the server, and another one would be the wrong one.
 */
export function candidatePaths(env: Environment, uid: number, machineId?: string): readonly string[] {
  const named = unixAddresses(env['PULSE_SERVER'] ?? '', machineId);
  if (named.length > 0) return [...new Set(named)];
  const runtime = env['PULSE_RUNTIME_PATH'];
  const usual = `${runtimeDirectory(env, uid)}/pulse/native`;
  return runtime ? [...new Set([`${runtime}/native`, usual])] : [usual];
}
