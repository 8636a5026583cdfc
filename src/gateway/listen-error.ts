// Finds out why an address cannot be listened on. uWebSockets.js does not report the reason, so a server of
// Node tries the address, too.

import { existsSync } from 'node:fs';
import { createServer } from 'node:net';
import type { InterfaceAddresses } from '../host/own-addresses.js';
import { errorText } from '../printable.js';
import { canNeverExist, resolveBind } from './bind.js';
import { portHolder } from './port-holder.js';

/**
 * Errors that do not pass by waiting, and their reasons for people. EADDRNOTAVAIL is not among them, because
 * a new address may become usable only after a second.
 */
const LASTING_ERRORS: Readonly<Record<string, (port: number) => string>> = {
  EADDRINUSE: (port) =>
    `the port is taken by ${portHolder(port) ?? 'another program'}; api.port sets another`,
  EACCES: () => 'this user may not listen on a port this low',
};

/**
 * One line with an address for which waiting does not help, and the reason. Undefined if an entry of `bind`
 * can be served now or later, because the service then waits only for the others. An entry with several
 * addresses, such as `lo`, counts as taken if one of them is.
 */
export async function listenProblem(
  bind: readonly string[],
  port: number,
  interfaces: InterfaceAddresses,
): Promise<string | undefined> {
  const hasIpv6 = existsSync('/proc/net/if_inet6');
  if (canNeverExist(bind, hasIpv6)) return `cannot listen on ${bind.join(', ')}: this kernel has no IPv6`;
  const { present, missing } = resolveBind(bind, interfaces);
  const possibleEntries = new Set(missing.filter((bindEntry) => !canNeverExist([bindEntry], hasIpv6)));
  for (const { bindEntry } of present) possibleEntries.add(bindEntry);
  let firstProblem: string | undefined;
  for (const { address, bindEntry } of present) {
    const code = (await listenError(address, port)) ?? '';
    const reasonFor = LASTING_ERRORS[code];
    if (reasonFor === undefined) continue;
    firstProblem ??= `cannot listen on ${address} port ${port}: ${reasonFor(port)}`;
    // A port that is not allowed at one address is allowed at none.
    if (code === 'EACCES') return firstProblem;
    possibleEntries.delete(bindEntry);
  }
  return possibleEntries.size === 0 ? firstProblem : undefined;
}

/**
 * The kernel's error code, such as `EADDRINUSE`; undefined if listening works now. Leaves no socket open, and
 * never rejects.
 */
export function listenError(address: string, port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? errorText(error)));
    server.listen({ host: address, port, exclusive: true }, () => server.close(() => resolve(undefined)));
  });
}
