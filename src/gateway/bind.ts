// Decides which addresses the configuration's `bind` means, and at which of them a client reaches the
// service. Pure: the machine's interfaces are an argument.

import { BlockList, isIP, SocketAddress } from 'node:net';
import type { NetworkInterfaceInfo } from 'node:os';
import {
  EVERY_ADDRESS,
  EVERY_IPV4,
  hostOnThisMachine,
  type InterfaceAddresses,
  isLinkLocal,
  reachableAt,
  withoutLabel,
} from '../host/own-addresses.js';

export interface BindAddress {
  readonly address: string;
  /** The entry of `bind` that means this address. */
  readonly bindEntry: string;
}

export interface ResolvedBind {
  readonly present: readonly BindAddress[];
  /** Entries of `bind`: interfaces without a usable address, and addresses that no interface has. */
  readonly missing: readonly string[];
  /** Messages for people, about addresses that exist but are left out. */
  readonly notes: readonly string[];
}

/** Prefix of an IPv4 address in IPv6 form (RFC 4291, section 2.5.5.2). */
const IPV4_MAPPED = '::ffff:';

/**
 * `bind` has interface names, IP addresses or `all`. Keeps the order, and leaves out duplicates. If `bind`
 * has a wildcard (`::` or `0.0.0.0`), the other addresses that the wildcard's socket serves are left out,
 * because the kernel would refuse a second socket for them.
 */
export function resolveBind(bind: readonly string[], interfaces: InterfaceAddresses): ResolvedBind {
  if (bind.includes('all')) {
    const address = wildcardAddress(interfaces);
    return { present: [{ address, bindEntry: 'all' }], missing: [], notes: [] };
  }
  const present = new Map<string, BindAddress>();
  const missing = new Set<string>();
  const notes: string[] = [];
  for (const bindEntry of bind) {
    // An entry without a dot or a colon is an interface. It is not passed to `isIP`, because the first call
    // of `isIP` makes Node.js compile its regular expression for IPv6, which takes 4 ms of CPU. With the
    // default `bind`, which is only `lo`, no function of this file calls `isIP` while the daemon starts.
    const isAddress = /[.:]/.test(bindEntry) && isIP(bindEntry) !== 0;
    const found = isAddress
      ? presentAddresses(canonicalAddress(bindEntry), interfaces)
      : addressesOfInterface(bindEntry, interfaces);
    // Clients cannot write the zone of a link-local address into a URL. Such an address is used only if
    // `bind` itself has it.
    const isUsable = (address: string): boolean => isAddress || !isLinkLocal(address);
    if (!found.some(isUsable)) missing.add(bindEntry);
    for (const address of found) {
      if (!isUsable(address)) notes.push(`bind: ${bindEntry}: the link-local address ${address} is left out`);
      else if (!present.has(address)) present.set(address, { address, bindEntry });
    }
  }
  return { present: withoutCoveredByWildcard([...present.values()]), missing: [...missing], notes };
}

/**
 * True if an address of `bind` can come and go. Loopback and the wildcards (`all`, `::`, `0.0.0.0`) cannot.
 */
export function canChange(bind: readonly string[]): boolean {
  const isSteady = (bindEntry: string): boolean =>
    bindEntry === 'lo' || bindEntry === '::1' || isAlwaysThere(canonicalAddress(bindEntry));
  return !bind.includes('all') && !bind.every(isSteady);
}

/** True if no entry of `bind` can ever exist: all are IPv6 addresses, and the kernel has no IPv6. */
export function canNeverExist(bind: readonly string[], hasIpv6: boolean): boolean {
  return !hasIpv6 && bind.every((bindEntry) => isIP(canonicalAddress(bindEntry)) === 6);
}

/**
 * The host at which the client with the address `client` can reach this service. The result is an address on
 * the client's network, else the first address that other machines can reach, else a host for this machine
 * only. The service listens at the addresses `served`. `interfaces` must be in the order of `bestFirst`
 * (host/own-addresses.ts).
 */
export function hostForClient(
  client: string,
  served: readonly string[],
  interfaces: InterfaceAddresses,
): string {
  const reachable = reachableAt(served, interfaces).map(({ info }) => info);
  const found = reachable.find((info) => isNeighbour(client, info)) ?? reachable[0];
  const host = found?.address ?? hostOnThisMachine(served) ?? 'localhost';
  return host.includes(':') ? `[${host}]` : host;
}

function isNeighbour(client: string, { address, cidr, family }: NetworkInterfaceInfo): boolean {
  const prefixLength = cidr?.split('/')[1];
  if (prefixLength === undefined) return false;
  const network = new BlockList();
  network.addSubnet(address, Number(prefixLength), family === 'IPv6' ? 'ipv6' : 'ipv4');
  return network.check(client, isIP(client) === 6 ? 'ipv6' : 'ipv4');
}

/** The addresses of an interface, also those that the system lists under a label, such as `eth0:1`. */
function addressesOfInterface(name: string, interfaces: InterfaceAddresses): readonly string[] {
  const entries = Object.entries(interfaces).filter(([nameOrLabel]) => withoutLabel(nameOrLabel) === name);
  return entries.flatMap(([, infos = []]) => infos.map(({ address }) => address));
}

/** `::` if the machine has IPv6, because the socket of `::` also serves IPv4; else `0.0.0.0`. */
function wildcardAddress(interfaces: InterfaceAddresses): string {
  const infos = Object.values(interfaces).flatMap((list) => list ?? []);
  return infos.some((info) => info.family === 'IPv6') ? EVERY_ADDRESS : EVERY_IPV4;
}

/** The socket of `::` also serves IPv4, so it covers every address. That of `0.0.0.0` covers only IPv4. */
function withoutCoveredByWildcard(present: readonly BindAddress[]): readonly BindAddress[] {
  const dualStack = present.find(({ address }) => address === EVERY_ADDRESS);
  if (dualStack !== undefined) return [dualStack];
  if (!present.some(({ address }) => address === EVERY_IPV4)) return present;
  return present.filter(({ address }) => address === EVERY_IPV4 || isIP(address) !== 4);
}

/**
 * True for addresses that always exist, even if no interface lists them: the two wildcards `::` and
 * `0.0.0.0`, and all of 127.0.0.0/8, of which interfaces usually list only 127.0.0.1.
 */
function isAlwaysThere(address: string): boolean {
  const isLoopback = isIP(address) === 4 && address.startsWith('127.');
  return address === EVERY_ADDRESS || address === EVERY_IPV4 || isLoopback;
}

/**
 * The canonical form of an address, as interfaces list it. A zone is kept. An IPv4-mapped address, such as
 * `::ffff:192.0.2.1`, becomes `192.0.2.1`. Otherwise two sockets would be opened for one address if `bind`
 * has both forms, and the kernel would refuse the second socket.
 */
function canonicalAddress(address: string): string {
  if (isIP(address) !== 6) return address;
  const [bare = '', zone] = address.split('%');
  const canonical = new SocketAddress({ address: bare, family: 'ipv6' }).address;
  const mappedAddress = canonical.startsWith(IPV4_MAPPED) ? canonical.slice(IPV4_MAPPED.length) : '';
  if (isIP(mappedAddress) === 4) return mappedAddress;
  return zone === undefined ? canonical : `${canonical}%${zone}`;
}

/**
 * The forms of `address` on which a socket can listen now; empty if the machine does not have the address.
 * Only a link-local address may have several forms, one for each interface that has it: `fe80::1` becomes
 * `fe80::1%eth0` and `fe80::1%wlan0`.
 */
function presentAddresses(address: string, interfaces: InterfaceAddresses): readonly string[] {
  if (isAlwaysThere(address)) return [address];
  const [bare = '', zone] = address.split('%');
  const names = new Set(Object.keys(interfaces).map(withoutLabel));
  const namesWithAddress = [...names].filter((name) => addressesOfInterface(name, interfaces).includes(bare));
  if (!isLinkLocal(address)) return namesWithAddress.length === 0 ? [] : [address];
  const usedZones = namesWithAddress.filter((name) => zone === undefined || name === zone);
  return usedZones.map((usedZone) => `${bare}%${usedZone}`);
}
