// From the configuration's `bind` to the addresses to listen on. Pure: the machine's interfaces are an argument.

import { isIP, SocketAddress } from 'node:net';
import type { NetworkInterfaceInfo } from 'node:os';

/** As `os.networkInterfaces()` gives them: only interfaces that are up and have an address. */
export type Interfaces = Readonly<Record<string, readonly NetworkInterfaceInfo[] | undefined>>;

export type BindResult =
  | { readonly ok: true; readonly addresses: readonly string[]; readonly notes: readonly string[] }
  /** `name` is neither an address nor an interface with one. */
  | { readonly ok: false; readonly name: string };

/** Listens for IPv4 too: uWebSockets.js makes it a dual-stack socket (measured). */
const EVERY_ADDRESS = '::';
const EVERY_IPV4 = '0.0.0.0';
/** In front of an IPv4 address that is written as an IPv6 one (RFC 4291, section 2.5.5.2). */
const IPV4_MAPPED = '::ffff:';

/**
 * `bind` holds interface names, IP addresses or `all`. The order is kept, duplicates are left out, and so is what another
 * address contains: the second socket of the two would be refused as taken.
 */
export function resolveBind(bind: readonly string[], interfaces: Interfaces): BindResult {
  if (bind.includes('all')) return { ok: true, addresses: [everywhere(interfaces)], notes: [] };
  const addresses = new Set<string>();
  const notes: string[] = [];
  for (const name of bind) {
    const written = isIP(name) !== 0;
    const found = written ? zoned(plain(name), interfaces) : addressesOf(name, interfaces);
    const usable = found.filter((address) => written || !isLinkLocal(address));
    for (const address of found) {
      // They need a zone, which clients cannot write into a URL; an interface has other addresses.
      if (!usable.includes(address))
        notes.push(`bind: ${name}: the link-local address ${address} is left out`);
    }
    if (usable.length === 0) return { ok: false, name };
    for (const address of usable) addresses.add(address);
  }
  return { ok: true, addresses: withoutContained([...addresses]), notes };
}

function addressesOf(name: string, interfaces: Interfaces): readonly string[] {
  const infos = Object.hasOwn(interfaces, name) ? interfaces[name] : undefined;
  return (infos ?? []).map((info) => info.address);
}

/** One dual-stack socket where the machine speaks IPv6 at all. */
function everywhere(interfaces: Interfaces): string {
  const infos = Object.values(interfaces).flatMap((list) => list ?? []);
  return infos.some((info) => info.family === 'IPv6') ? EVERY_ADDRESS : EVERY_IPV4;
}

function withoutContained(addresses: readonly string[]): readonly string[] {
  if (addresses.includes(EVERY_ADDRESS)) return [EVERY_ADDRESS];
  if (!addresses.includes(EVERY_IPV4)) return addresses;
  return addresses.filter((address) => address === EVERY_IPV4 || isIP(address) !== 4);
}

/**
 * An address in its one usual spelling, as interfaces have it. A zone is kept. An IPv4-mapped address is the IPv4 address:
 * to listen on both is to listen twice on one.
 */
function plain(address: string): string {
  if (isIP(address) === 4) return address;
  const [bare = '', zone] = address.split('%');
  const usual = new SocketAddress({ address: bare, family: 'ipv6' }).address;
  const mapped = usual.startsWith(IPV4_MAPPED) ? usual.slice(IPV4_MAPPED.length) : '';
  if (isIP(mapped) === 4) return mapped;
  return zone === undefined ? usual : `${usual}%${zone}`;
}

/** A link-local address means nothing without its zone: those of the interfaces that have it, where none is written. */
function zoned(address: string, interfaces: Interfaces): readonly string[] {
  if (!isLinkLocal(address) || address.includes('%')) return [address];
  const zones = Object.keys(interfaces).filter((name) => addressesOf(name, interfaces).includes(address));
  return zones.length === 0 ? [address] : zones.map((zone) => `${address}%${zone}`);
}

function isLinkLocal(address: string): boolean {
  return /^fe[89ab]/i.test(address) && isIP(address) === 6;
}
