// From the configuration's `bind` to the addresses to listen on. Pure: the machine's interfaces are an argument.

import { BlockList, isIP, SocketAddress } from 'node:net';
import type { NetworkInterfaceInfo } from 'node:os';

/** As `os.networkInterfaces()` gives them: only interfaces that are up and have an address. */
export type InterfaceAddresses = Readonly<Record<string, readonly NetworkInterfaceInfo[] | undefined>>;

export interface WantedAddress {
  readonly address: string;
  /** What of `bind` names it. */
  readonly name: string;
}

export interface Bound {
  readonly wanted: readonly WantedAddress[];
  /** What of `bind` is not there: an interface without an address that can be listened on, an address that no interface has. */
  readonly waiting: readonly string[];
  /** For people: what is there and left out, and why. */
  readonly notes: readonly string[];
}

/** Listens for IPv4 too: uWebSockets.js makes it a dual-stack socket (measured). */
const EVERY_ADDRESS = '::';
const EVERY_IPV4 = '0.0.0.0';
/** In front of an IPv4 address that is written as an IPv6 one (RFC 4291, section 2.5.5.2). */
const IPV4_MAPPED = '::ffff:';
/** Every IP address has one. */
const ADDRESS_MARKS = /[.:]/;

/**
 * `bind` holds interface names, IP addresses or `all`. The order is kept, duplicates are left out, and so is what another
 * address contains: the second socket of the two would be refused as taken.
 */
export function resolveBind(bind: readonly string[], interfaces: InterfaceAddresses): Bound {
  if (bind.includes('all')) {
    return { wanted: [{ address: everywhere(interfaces), name: 'all' }], waiting: [], notes: [] };
  }
  const wanted = new Map<string, WantedAddress>();
  const waiting = new Set<string>();
  const notes: string[] = [];
  for (const name of bind) {
    // Node compiles its expression for IPv6 when it is first asked: 4 ms of a start's CPU (measured), for nothing where there is a name.
    const written = ADDRESS_MARKS.test(name) && isIP(name) !== 0;
    const found = written ? present(plain(name), interfaces) : addressesOf(name, interfaces);
    const usable = found.filter((address) => written || !isLinkLocal(address));
    for (const address of found) {
      // They need a zone, which clients cannot write into a URL; an interface has other addresses.
      if (!usable.includes(address))
        notes.push(`bind: ${name}: the link-local address ${address} is left out`);
    }
    if (usable.length === 0) waiting.add(name);
    for (const address of usable) if (!wanted.has(address)) wanted.set(address, { address, name });
  }
  return { wanted: withoutContained([...wanted.values()]), waiting: [...waiting], notes };
}

/** Whether what `bind` names can come and go: all but loopback, and the sockets that take in every address that there is. */
export function canChange(bind: readonly string[]): boolean {
  const isSteady = (name: string): boolean => name === 'lo' || name === '::1' || isAlwaysThere(plain(name));
  return !bind.includes('all') && !bind.every(isSteady);
}

/** Whether nothing of `bind` can ever be there: IPv6 addresses where the kernel has no IPv6. */
export function canNeverBe(bind: readonly string[], hasIpv6: boolean): boolean {
  return !hasIpv6 && bind.every((name) => isIP(plain(name)) === 6);
}

/**
 * The host under which a client finds what is listened on: an address of a network that it is in too, else any that others can reach,
 * else the machine's own.
 */
export function hostFor(
  client: string,
  listening: readonly string[],
  interfaces: InterfaceAddresses,
): string {
  const isServed = ({ address, family }: NetworkInterfaceInfo): boolean =>
    listening.some((each) => [address, EVERY_ADDRESS, family === 'IPv4' && EVERY_IPV4].includes(each));
  const reachable = Object.values(interfaces)
    .flatMap((list) => list ?? [])
    .filter((info) => !info.internal && !isLinkLocal(info.address) && isServed(info));
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

function addressesOf(name: string, interfaces: InterfaceAddresses): readonly string[] {
  const infos = Object.hasOwn(interfaces, name) ? interfaces[name] : undefined;
  return (infos ?? []).map((info) => info.address);
}

/** One dual-stack socket where the machine speaks IPv6 at all. */
function everywhere(interfaces: InterfaceAddresses): string {
  const infos = Object.values(interfaces).flatMap((list) => list ?? []);
  return infos.some((info) => info.family === 'IPv6') ? EVERY_ADDRESS : EVERY_IPV4;
}

function withoutContained(wanted: readonly WantedAddress[]): readonly WantedAddress[] {
  const every = wanted.find(({ address }) => address === EVERY_ADDRESS);
  if (every !== undefined) return [every];
  if (!wanted.some(({ address }) => address === EVERY_IPV4)) return wanted;
  return wanted.filter(({ address }) => address === EVERY_IPV4 || isIP(address) !== 4);
}

/** No interface lists them: sockets for every address, and the addresses of 127.0.0.0/8 but one. */
function isAlwaysThere(address: string): boolean {
  return (
    address === EVERY_ADDRESS || address === EVERY_IPV4 || (isIP(address) === 4 && address.startsWith('127.'))
  );
}

/**
 * An address in its one usual spelling, as interfaces have it. A zone is kept. An IPv4-mapped address is the IPv4 address:
 * to listen on both is to listen twice on one.
 */
function plain(address: string): string {
  if (isIP(address) !== 6) return address;
  const [bare = '', zone] = address.split('%');
  const usual = new SocketAddress({ address: bare, family: 'ipv6' }).address;
  const mapped = usual.startsWith(IPV4_MAPPED) ? usual.slice(IPV4_MAPPED.length) : '';
  if (isIP(mapped) === 4) return mapped;
  return zone === undefined ? usual : `${usual}%${zone}`;
}

/** The address as it can be listened on now, if at all. A link-local one means nothing without the zones that have it. */
function present(address: string, interfaces: InterfaceAddresses): readonly string[] {
  if (isAlwaysThere(address)) return [address];
  const [bare = '', zone] = address.split('%');
  const names = Object.keys(interfaces).filter((name) => addressesOf(name, interfaces).includes(bare));
  if (!isLinkLocal(address)) return names.length === 0 ? [] : [address];
  return names.filter((name) => zone === undefined || name === zone).map((name) => `${bare}%${name}`);
}

function isLinkLocal(address: string): boolean {
  return /^fe[89ab]/i.test(address) && isIP(address) === 6;
}
