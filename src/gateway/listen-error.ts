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

/** One line with an address for which waiting does not help, and the reason; undefined if there is none. */
export async function listenProblem(
  bind: readonly string[],
  port: number,
  interfaces: InterfaceAddresses,
): Promise<string | undefined> {
  if (canNeverExist(bind, existsSync('/proc/net/if_inet6')))
    return `cannot listen on ${bind.join(', ')}: this kernel has no IPv6`;
  for (const { address } of resolveBind(bind, interfaces).present) {
    const code = (await listenError(address, port)) ?? '';
    const reasonFor = LASTING_ERRORS[code];
    if (reasonFor !== undefined) return `cannot listen on ${address} port ${port}: ${reasonFor(port)}`;
  }
  return undefined;
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
