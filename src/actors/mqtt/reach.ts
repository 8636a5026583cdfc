// Under which address people reach the node's page: one that works without mDNS where there is one, else the node's name. Pure.

import { isIP } from 'node:net';
import type { NetworkInterfaceInfo } from 'node:os';

/** As `os.networkInterfaces()` gives them. */
export type InterfaceAddresses = Readonly<Record<string, readonly NetworkInterfaceInfo[] | undefined>>;

export interface Reach {
  readonly hostname: string;
  readonly port: number;
  /** What is listened on, as `/health` lists it. */
  readonly addresses: readonly string[];
  readonly interfaces: InterfaceAddresses;
}

/** Sockets for every address; that of IPv6 takes IPv4 in too. */
const EVERY_ADDRESS = '::';
const EVERY_IPV4 = '0.0.0.0';
/** They need a zone, or are of a network without a router that gives addresses. */
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
