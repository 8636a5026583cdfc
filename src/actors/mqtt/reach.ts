// Chooses the address of the node's page for people: an IP address that works without mDNS if there is one, else the node's name. Pure.

import { isIP } from 'node:net';
import type { NetworkInterfaceInfo } from 'node:os';

export type InterfaceAddresses = Readonly<Record<string, readonly NetworkInterfaceInfo[] | undefined>>;

export interface Reach {
  readonly hostname: string;
  readonly port: number;
  /** The addresses that are listened on, as in `/health`. */
  readonly addresses: readonly string[];
  readonly interfaces: InterfaceAddresses;
}

/** Wildcard addresses; the IPv6 one accepts IPv4 too. */
const EVERY_ADDRESS = '::';
const EVERY_IPV4 = '0.0.0.0';
/** Such addresses need a zone, or mean that no router has given an address. */
const LINK_LOCAL = /^(fe80:|169\.254\.)/i;

export function pageUrl({ hostname, port, addresses, interfaces }: Reach): string {
  const reachable = Object.values(interfaces)
    .flatMap((list) => list ?? [])
    .filter(({ internal, address }) => !internal && !LINK_LOCAL.test(address))
    .filter(({ address, family }) =>
      [address, EVERY_ADDRESS, ...(family === 'IPv4' ? [EVERY_IPV4] : [])].some((each) =>
        addresses.includes(each),
      ),
    );
  const found = reachable.find(({ family }) => family === 'IPv4') ?? reachable[0];
  const name = hostname.includes('.') ? hostname : `${hostname}.local`;
  const host = found?.address ?? name;
  return `http://${isIP(host) === 6 ? `[${host}]` : host}:${port}/ui`;
}
