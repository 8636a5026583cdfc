// Finds out why an address cannot be listened on. uWebSockets.js does not report the reason, so a server of
// Node.js tries the address, too.

import { existsSync } from 'node:fs';
import { createServer } from 'node:net';
import type { InterfaceAddresses } from '../host/own-addresses.js';
import { errorText } from '../printable.js';
import { canNeverExist, resolveBind } from './bind.js';
import { portHolder } from './port-holder.js';

/** Every machine has this address. */
const LOOPBACK_ADDRESS = '127.0.0.1';

/**
 * The result is undefined if at least one entry of `bind` can be served now or later, because then the
 * service runs, and waits for the other entries. Else the result is one line that says why no entry can be
 * served. An entry with several addresses, such as `lo`, counts as one that cannot be served if another
 * program has the port at one of these addresses. An address that is not ready (EADDRNOTAVAIL) is no
 * problem, because it may be ready later.
 */
export async function listenProblem(
  bind: readonly string[],
  port: number,
  interfaces: InterfaceAddresses,
): Promise<string | undefined> {
  const hasIpv6 = existsSync('/proc/net/if_inet6');
  if (canNeverExist(bind, hasIpv6)) return `cannot listen on ${bind.join(', ')}: this kernel has no IPv6`;
  // The kernel allows a low port at all addresses or at none, so this check needs only one address.
  if ((await listenError(LOOPBACK_ADDRESS, port)) === 'EACCES')
    return `cannot listen on port ${port}: this user may not listen on a port this low`;
  const { present, missing } = resolveBind(bind, interfaces);
  const possibleEntries = new Set(missing.filter((bindEntry) => !canNeverExist([bindEntry], hasIpv6)));
  for (const { bindEntry } of present) possibleEntries.add(bindEntry);
  let firstProblem: string | undefined;
  for (const { address, bindEntry } of present) {
    if ((await listenError(address, port)) !== 'EADDRINUSE') continue;
    const holder = portHolder(port) ?? 'another program';
    firstProblem ??= `cannot listen on ${address} port ${port}: the port is taken by ${holder}; api.port sets another`;
    possibleEntries.delete(bindEntry);
  }
  return possibleEntries.size === 0 ? firstProblem : undefined;
}

/**
 * The kernel's error code, such as `EADDRINUSE`; undefined if listening works now. Leaves no socket open,
 * and never rejects.
 */
export function listenError(address: string, port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? errorText(error)));
    server.listen({ host: address, port, exclusive: true }, () => server.close(() => resolve(undefined)));
  });
}
