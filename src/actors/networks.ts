// Tells in which networks an IP address is. Pure.

import { BlockList, isIPv4 } from 'node:net';

/**
 * `networks`: `ADDRESS/BITS`. Those of the other family are left out: a list would compare IPv4 addresses
 * with mapped ones, too.
 */
export function isIn(networks: readonly string[], address: string): boolean {
  const family = familyOf(address);
  const list = new BlockList();
  for (const each of networks) {
    const [network = '', bits] = each.split('/');
    if (familyOf(network) === family) list.addSubnet(network, Number(bits), family);
  }
  return list.check(address, family);
}

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return isIPv4(address) ? 'ipv4' : 'ipv6';
}
