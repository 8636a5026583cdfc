// Addresses of interfaces as Node.js reports them.

import type { NetworkInterfaceInfo } from 'node:os';

const NO_NETWORK = { netmask: '', mac: '', cidr: null };

export function v4(address: string): NetworkInterfaceInfo {
  return { ...NO_NETWORK, family: 'IPv4', address, internal: address.startsWith('127.') };
}

export function v6(address: string): NetworkInterfaceInfo {
  return { ...NO_NETWORK, family: 'IPv6', address, internal: address === '::1', scopeid: 0 };
}
