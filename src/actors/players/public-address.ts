// Decides from which IP addresses covers may be fetched: only from public ones, never from the house
// (docs/players.md, "Covers from the web"). Pure.

import { isIPv4, isIPv6 } from 'node:net';
import { isInNetworks } from '../networks.js';

/**
 * The networks that IANA's registry of special addresses does not call global, and the networks of multicast.
 * The network 100.64.0.0/10 is for a provider's customers who share one public address (CGNAT).
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

/** Loopback, IPv4-mapped, unique local, link-local and multicast addresses are outside of this network. */
const GLOBAL_V6 = ['2000::/3'];

/**
 * `2001::/23` is for protocols of the IETF, such as Teredo. `2002::/16` is for 6to4. The addresses of Teredo
 * and 6to4 contain an IPv4 address, which may be private. The other two networks are for documentation.
 */
const SPECIAL_V6 = ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20'];

/**
 * NAT64's well-known prefix. The last 32 bits are an IPv4 address in two pairs of bytes: `64:ff9b::c0a8:105`
 * is 192.168.1.5. The shortest spelling omits the first pair if it is 0: `64:ff9b::105` is 0.0.1.5.
 */
const NAT64_ADDRESS = /^64:ff9b::(?:([0-9a-f]{1,4}):)?([0-9a-f]{1,4})$/;

/**
 * The largest network that a provider gives a house has a prefix of this length. The house may divide it
 * into smaller networks, and an address from DHCPv6 is a network of its own (`/128`). So each of the node's
 * own IPv6 networks is widened to this length.
 */
const HOUSE_V6_BITS = 48;

/**
 * `ownNetworks`: the IPv4 and IPv6 networks of the node's interfaces (`ADDRESS/BITS`). Addresses in these
 * networks do not count as public, because with IPv6 the devices of the house have global addresses, too.
 */
export function isPublic(address: string, ownNetworks: readonly string[]): boolean {
  if (isIPv4(address)) return !isInNetworks(SPECIAL_V4, address) && !isInNetworks(ownNetworks, address);
  // Only an address that is not public needs a zone, such as `eth0` in `fe80::1%eth0`.
  const hasZone = address.includes('%');
  if (!isIPv6(address) || hasZone) return false;
  const ipv4 = ipv4BehindNat64(address);
  if (ipv4 !== undefined) return isPublic(ipv4, ownNetworks);
  const isGlobal = isInNetworks(GLOBAL_V6, address) && !isInNetworks(SPECIAL_V6, address);
  return isGlobal && !isInNetworks(ownNetworks.map(houseNetworkOf), address);
}

/** Undefined if the IPv6 address does not have NAT64's prefix. */
function ipv4BehindNat64(address: string): string | undefined {
  const match = NAT64_ADDRESS.exec(shortestSpelling(address));
  if (match === null) return undefined;
  // The pair `c0a8` gives 192 and 168.
  const [, firstPair = '0', lastPair = '0'] = match;
  const pairsOfBytes = [firstPair, lastPair].map((digits) => Number.parseInt(digits, 16));
  return pairsOfBytes.flatMap((pair) => [pair >> 8, pair & 255]).join('.');
}

/** An IPv4 network stays the same, because its prefix has at most 32 bits. */
function houseNetworkOf(network: string): string {
  const [address, bits] = network.split('/');
  return `${address}/${Math.min(Number(bits), HOUSE_V6_BITS)}`;
}

/** One IPv6 address has many spellings. A parsed URL has only the shortest. */
function shortestSpelling(address: string): string {
  return new URL(`http://[${address}]`).hostname.slice(1, -1);
}
