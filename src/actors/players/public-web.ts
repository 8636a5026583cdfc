// Connects web-cover.ts to the real web: name servers, this node's own networks, and the usual ports.

import { Resolver } from 'node:dns/promises';
import { networkInterfaces } from 'node:os';
import type { Clock } from '../../clock.js';
import type { ImageAnswer } from './cover.js';
import { isPublic } from './public-address.js';
import { type WebAccess, webCover } from './web-cover.js';

const WEB: WebAccess = {
  isPublic: (address) => isPublic(address, ownNetworks()),
  addressesOf,
  isPort: (port) => port === '',
};

export function fetchCover(url: string, clock: Clock): Promise<ImageAnswer | undefined> {
  return webCover(url, WEB, clock);
}

function ownNetworks(): readonly string[] {
  return Object.values(networkInterfaces()).flatMap((all = []) => all.flatMap(({ cidr }) => cidr ?? []));
}

/** getaddrinfo would also ask mDNS and the node's own files, and would hold one of the process's few file threads while it waits. */
async function addressesOf(host: string, signal: AbortSignal): Promise<readonly string[]> {
  const resolver = new Resolver();
  signal.addEventListener('abort', () => resolver.cancel(), { once: true });
  const found = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)]);
  return found.flatMap((each) => (each.status === 'fulfilled' ? each.value : []));
}
