// Decides on which addresses the service listens for the configuration's `bind`, and at which one a client
// reaches it. Pure: the machine's interfaces are an argument.

import { BlockList, isIP, SocketAddress } from 'node:net';
import type { NetworkInterfaceInfo } from 'node:os';
import {
  EVERY_ADDRESS,
  EVERY_IPV4,
  type InterfaceAddresses,
  isLinkLocal,
  reachableAt,
  withoutLabel,
} from '../host/own-addresses.js';

export interface BindAddress {
  readonly address: string;
  /** The entry of `bind` that it comes from. */
  readonly name: string;
}

export interface Bound {
  readonly present: readonly BindAddress[];
  /**
   * Entries of `bind` that are missing: an interface without a usable address, or an address that no
   * interface has.
   */
  readonly waiting: readonly string[];
  /** Messages for people: addresses that exist but are left out, and why. */
  readonly notes: readonly string[];
}

/** Prefix of an IPv4 address in IPv6 form (RFC 4291, section 2.5.5.2). */
const IPV4_MAPPED = '::ffff:';

/**
 * `bind` holds interface names, IP addresses or `all`. Keeps the order. Leaves out duplicates, and addresses
 * that the socket of another address serves, too, because a second socket would be refused as taken.
 */
export function resolveBind(bind: readonly string[], interfaces: InterfaceAddresses): Bound {
  if (bind.includes('all'))
    return { present: [{ address: wildcardAddress(interfaces), name: 'all' }], waiting: [], notes: [] };
  const present = new Map<string, BindAddress>();
  const waiting = new Set<string>();
  const notes: string[] = [];
  for (const name of bind) {
    // The first `isIP` makes Node compile its IPv6 expression, which takes 4 ms of CPU at the start. A name
    // without a dot or a colon is an interface, and does not need it.
    const isAddress = /[.:]/.test(name) && isIP(name) !== 0;
    const found = isAddress
      ? presentAddresses(canonicalAddress(name), interfaces)
      : addressesOf(name, interfaces);
    const usable = found.filter((address) => isAddress || !isLinkLocal(address));
    if (usable.length === 0) waiting.add(name);
    for (const address of found) {
      // Link-local addresses need a zone, which clients cannot write into a URL. Users who need such an
      // address write it into `bind`.
      if (!usable.includes(address))
        notes.push(`bind: ${name}: the link-local address ${address} is left out`);
      else if (!present.has(address)) present.set(address, { address, name });
    }
  }
  return { present: withoutContained([...present.values()]), waiting: [...waiting], notes };
}

/** True if an address of `bind` can come and go. Loopback and the addresses of all interfaces cannot. */
export function canChange(bind: readonly string[]): boolean {
  const isSteady = (name: string): boolean =>
    name === 'lo' || name === '::1' || isAlwaysThere(canonicalAddress(name));
  return !bind.includes('all') && !bind.every(isSteady);
}

/** True if no entry of `bind` can ever exist: all are IPv6 addresses, and the kernel has no IPv6. */
export function canNeverExist(bind: readonly string[], hasIpv6: boolean): boolean {
  return !hasIpv6 && bind.every((name) => isIP(canonicalAddress(name)) === 6);
}

/**
 * The host at which `client` can reach this service: an address on the client's network, else the first one
 * that other machines can reach, else `localhost`. The best of `interfaces` stands first.
 */
export function hostFor(client: string, served: readonly string[], interfaces: InterfaceAddresses): string {
  const reachable = reachableAt(served, interfaces).map(({ info }) => info);
  const found = reachable.find((info) => isNeighbour(client, info)) ?? reachable[0];
  if (found === undefined) return 'localhost';
  return found.family === 'IPv6' ? `[${found.address}]` : found.address;
}

function isNeighbour(client: string, { address, cidr, family }: NetworkInterfaceInfo): boolean {
  const bits = cidr?.split('/')[1];
  if (bits === undefined) return false;
  const network = new BlockList();
  network.addSubnet(address, Number(bits), family === 'IPv6' ? 'ipv6' : 'ipv4');
  return network.check(client, isIP(client) === 6 ? 'ipv6' : 'ipv4');
}

/** The addresses of an interface, also those that the system lists under a label of the interface. */
function addressesOf(name: string, interfaces: InterfaceAddresses): readonly string[] {
  const own = Object.entries(interfaces).filter(([nameOrLabel]) => withoutLabel(nameOrLabel) === name);
  return own.flatMap(([, infos = []]) => infos.map(({ address }) => address));
}

/** The address of one dual-stack socket if the machine has IPv6, else that of all IPv4 interfaces. */
function wildcardAddress(interfaces: InterfaceAddresses): string {
  const infos = Object.values(interfaces).flatMap((list) => list ?? []);
  return infos.some((info) => info.family === 'IPv6') ? EVERY_ADDRESS : EVERY_IPV4;
}

function withoutContained(present: readonly BindAddress[]): readonly BindAddress[] {
  const dualStack = present.find(({ address }) => address === EVERY_ADDRESS);
  if (dualStack !== undefined) return [dualStack];
  if (!present.some(({ address }) => address === EVERY_IPV4)) return present;
  return present.filter(({ address }) => address === EVERY_IPV4 || isIP(address) !== 4);
}

/**
 * True for addresses that always exist and that interfaces do not list: the two addresses of all interfaces,
 * and all of 127.0.0.0/8 except 127.0.0.1.
 */
function isAlwaysThere(address: string): boolean {
  const isLoopback = isIP(address) === 4 && address.startsWith('127.');
  return address === EVERY_ADDRESS || address === EVERY_IPV4 || isLoopback;
}

/**
 * The canonical form of an address, as interfaces list it. A zone is kept. An IPv4-mapped address becomes the
 * IPv4 address: two sockets for both would listen on the same address twice.
 */
function canonicalAddress(address: string): string {
  if (isIP(address) !== 6) return address;
  const [bare = '', zone] = address.split('%');
  const canonical = new SocketAddress({ address: bare, family: 'ipv6' }).address;
  const mapped = canonical.startsWith(IPV4_MAPPED) ? canonical.slice(IPV4_MAPPED.length) : '';
  if (isIP(mapped) === 4) return mapped;
  return zone === undefined ? canonical : `${canonical}%${zone}`;
}

/**
 * The address in each form that can be listened on now; empty if no interface has it. A link-local address
 * gets each zone that has it.
 */
function presentAddresses(address: string, interfaces: InterfaceAddresses): readonly string[] {
  if (isAlwaysThere(address)) return [address];
  const [bare = '', zone] = address.split('%');
  const names = Object.keys(interfaces).filter((name) => addressesOf(name, interfaces).includes(bare));
  if (!isLinkLocal(address)) return names.length === 0 ? [] : [address];
  return names.filter((name) => zone === undefined || name === zone).map((name) => `${bare}%${name}`);
}
