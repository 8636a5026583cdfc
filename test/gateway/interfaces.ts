// Addresses of interfaces as Node reports them.

import type { NetworkInterfaceInfo } from 'node:os';

const NOWHERE = { netmask: '', mac: '', cidr: null };

export function v4(address: string): NetworkInterfaceInfo {
  return { ...NOWHERE, family: 'IPv4', address, internal: address.startsWith('127.') };
}

export function v6(address: string): NetworkInterfaceInfo {
  return { ...NOWHERE, family: 'IPv6', address, internal: address === '::1', scopeid: 0 };
}
