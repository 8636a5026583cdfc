// Decides whether an IP address is in one of several networks. Pure.

import { BlockList, isIPv4 } from 'node:net';

/**
 * Each network is written `ADDRESS/BITS`. The `BlockList` gets only networks of the same IP family as the
 * address, because it would also compare an IPv4 address with IPv4-mapped IPv6 networks.
 */
export function isInNetworks(networks: readonly string[], address: string): boolean {
  const family = familyOf(address);
  const list = new BlockList();
  for (const network of networks) {
    const [start = '', bits] = network.split('/');
    if (familyOf(start) === family) list.addSubnet(start, Number(bits), family);
  }
  return list.check(address, family);
}

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return isIPv4(address) ? 'ipv4' : 'ipv6';
}
