// Decides where covers may be fetched from: the internet, and nothing of the house (docs/players.md, "Covers
// from the web"). Pure.

import { isIPv4, isIPv6 } from 'node:net';
import { isIn } from '../networks.js';

/**
 * IANA's registry of special addresses, and multicast; 100.64.0.0/10 is shared by the customers of a provider
 * (CGNAT).
 */
const SPECIAL_V4 = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
];

/**
 * All global unicast addresses; loopback, mapped, unique local, link-local and multicast ones are outside.
 */
const GLOBAL_V6 = ['2000::/3'];

/** The networks of tunnels to other addresses (Teredo, 6to4), and those for documentation. */
const SPECIAL_V6 = ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20'];

/** The well-known prefix of NAT64: the last 32 bits are an IPv4 address. */
const NAT64 = /^64:ff9b::(?:([0-9a-f]{1,4}):)?([0-9a-f]{1,4})$/;

/**
 * A house has several networks with one prefix, and an address from DHCPv6 has a network of its own (`/128`):
 * this many bits of it are taken as the prefix of the house.
 */
const HOUSE_V6_BITS = 48;

/**
 * `own` are the networks of the node's interfaces (`ADDRESS/BITS`). They are excluded because with IPv6 the
 * house's devices have global addresses, too.
 */
export function isPublic(address: string, own: readonly string[]): boolean {
  if (isIPv4(address)) return !isIn(SPECIAL_V4, address) && !isIn(own, address);
  if (!isIPv6(address) || address.includes('%')) return false;
  const [, high = '0', low] = NAT64.exec(shortest(address)) ?? [];
  if (low !== undefined) {
    const parts = [high, low].map((part) => Number.parseInt(part, 16));
    return isPublic(parts.flatMap((part) => [part >> 8, part & 255]).join('.'), own);
  }
  return isIn(GLOBAL_V6, address) && !isIn(SPECIAL_V6, address) && !isIn(own.map(houseOf), address);
}

function houseOf(network: string): string {
  const [address, bits] = network.split('/');
  return `${address}/${Math.min(Number(bits), HOUSE_V6_BITS)}`;
}

/** One address has many spellings; a URL has only the shortest. */
function shortest(address: string): string {
  return new URL(`http://[${address}]`).hostname.slice(1, -1);
}
