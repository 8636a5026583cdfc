// Decides at which addresses other machines reach this machine, and which address comes first. All parts that
// show an address to people take it from here.

import { existsSync } from 'node:fs';
import { isIP } from 'node:net';
import type { NetworkInterfaceInfo } from 'node:os';
import { textIfThere } from './text-if-there.js';

/** The result of `os.networkInterfaces()`: only interfaces that are up and have an address. */
export type InterfaceAddresses = Readonly<Record<string, readonly NetworkInterfaceInfo[] | undefined>>;

export interface OwnAddress {
  readonly interfaceName: string;
  readonly info: NetworkInterfaceInfo;
}

/**
 * The facts by which interfaces are ranked. The system's own order is not used, because it is by age:
 * interfaces of containers and tunnels (docker0, wg0) may be older than the interface of the house's network.
 */
export interface Ranking {
  /** The interfaces of default routes, the preferred one first. */
  readonly onDefaultRoutes: readonly string[];
  /** True if the interface is a device, and not made by software. */
  readonly isPhysical: (name: string) => boolean;
}

/**
 * A socket of the daemon on this address accepts IPv4, too, because uWebSockets.js makes it dual-stack
 * (docs/development/what-we-learnt.md, "uWebSockets.js").
 */
export const EVERY_ADDRESS = '::';
export const EVERY_IPV4 = '0.0.0.0';

/** A socket on one of these addresses can be reached as `localhost`. */
const REACHED_BY_LOCALHOST: readonly string[] = ['127.0.0.1', '::1', EVERY_ADDRESS, EVERY_IPV4];

/** This flag of the kernel's `route.h` marks a route that can be used. */
const RTF_UP = 0x0001;
/** This flag marks a route that refuses its packets. */
const RTF_REJECT = 0x0200;

/**
 * Returns the addresses at which other machines reach sockets on `servedAddresses`, in the order of
 * `interfaces`. The IPv4 addresses of an interface come first, because they are easier to type. Link-local
 * addresses of IPv6 are left out, because they need a zone, which URLs cannot contain.
 */
export function reachableAt(
  servedAddresses: readonly string[],
  interfaces: InterfaceAddresses,
): readonly OwnAddress[] {
  const isServed = ({ address, family }: NetworkInterfaceInfo): boolean =>
    servedAddresses.includes(address) ||
    servedAddresses.includes(EVERY_ADDRESS) ||
    (family === 'IPv4' && servedAddresses.includes(EVERY_IPV4));
  const isReachable = (info: NetworkInterfaceInfo): boolean =>
    !info.internal && !isLinkLocal(info.address) && isServed(info);
  return Object.entries(interfaces).flatMap(([interfaceName, infos = []]) =>
    infos
      .filter(isReachable)
      .sort((one, other) => familyRank(one) - familyRank(other))
      .map((info) => ({ interfaceName, info })),
  );
}

/**
 * The host at which a program on this machine reaches a socket on one of `servedAddresses`. Undefined if all
 * of them are link-local, because URLs cannot contain the zone of such an address.
 */
export function hostOnThisMachine(servedAddresses: readonly string[]): string | undefined {
  if (servedAddresses.some((address) => REACHED_BY_LOCALHOST.includes(address))) return 'localhost';
  return servedAddresses.find((address) => !isLinkLocal(address));
}

function familyRank({ family }: NetworkInterfaceInfo): number {
  return family === 'IPv4' ? 0 : 1;
}

/**
 * Returns `eth0` for `eth0:1`. An IPv4 address may have such a label, and the system lists the label as if
 * it were the name of another interface.
 */
export function withoutLabel(name: string): string {
  return name.replace(/:.*/, '');
}

/**
 * Sorts the interfaces: first those of default routes, which lead to the network of the house, then other
 * devices, then interfaces that are made by software. Reads the facts for this from /proc and /sys.
 */
export function bestFirst(interfaces: InterfaceAddresses): InterfaceAddresses {
  return rankedBy(interfaces, readRanking());
}

export function rankedBy(
  interfaces: InterfaceAddresses,
  { onDefaultRoutes, isPhysical }: Ranking,
): InterfaceAddresses {
  const rankOf = (interfaceName: string): number => {
    const position = onDefaultRoutes.indexOf(interfaceName);
    if (position >= 0) return position;
    return isPhysical(interfaceName) ? onDefaultRoutes.length : onDefaultRoutes.length + 1;
  };
  const ranked = Object.entries(interfaces).map(([name, infos]) => ({
    name,
    infos,
    rank: rankOf(withoutLabel(name)),
  }));
  ranked.sort((one, other) => one.rank - other.rank);
  return Object.fromEntries(ranked.map(({ name, infos }) => [name, infos]));
}

/** True for an IPv6 address of fe80::/10. Such addresses begin with `fe8`, `fe9`, `fea` or `feb`. */
export function isLinkLocal(address: string): boolean {
  return /^fe[89ab]/i.test(address) && isIP(address) === 6;
}

function readRanking(): Ranking {
  const v4 = defaultRoutes(textIfThere('/proc/net/route'));
  const v6 = defaultRoutes6(textIfThere('/proc/net/ipv6_route'));
  return {
    onDefaultRoutes: [...new Set([...v4, ...v6])],
    isPhysical: (name) => existsSync(`/sys/class/net/${name}/device`),
  };
}

interface DefaultRoute {
  readonly interfaceName: string;
  readonly metric: number;
}

/** The interfaces of default routes in the text of /proc/net/route, the lowest metric first. */
export function defaultRoutes(table: string): readonly string[] {
  const routes: DefaultRoute[] = [];
  for (const line of table.split('\n')) {
    const [interfaceName = '', destination, _gateway, flags = '', _references, _uses, metric = '', mask] =
      line.split(/\s+/);
    const isDefault = destination === '00000000' && mask === '00000000';
    if (isDefault && isUsableRoute(flags)) routes.push({ interfaceName, metric: Number(metric) });
  }
  return byMetric(routes);
}

/** The interfaces of default routes in the text of /proc/net/ipv6_route, the lowest metric first. */
export function defaultRoutes6(table: string): readonly string[] {
  const routes: DefaultRoute[] = [];
  for (const line of table.split('\n')) {
    const [
      destination = '',
      prefix,
      _source,
      _sourcePrefix,
      _gateway,
      metric = '',
      _references,
      _uses,
      flags = '',
      interfaceName = '',
    ] = line.trim().split(/\s+/);
    const isDefault = /^0+$/.test(destination) && prefix === '00';
    // This metric is hexadecimal. That of /proc/net/route is decimal.
    if (isDefault && isUsableRoute(flags))
      routes.push({ interfaceName, metric: Number.parseInt(metric, 16) });
  }
  return byMetric(routes);
}

function isUsableRoute(hexFlags: string): boolean {
  const flags = Number.parseInt(hexFlags, 16);
  return (flags & RTF_UP) !== 0 && (flags & RTF_REJECT) === 0;
}

function byMetric(routes: DefaultRoute[]): readonly string[] {
  routes.sort((one, other) => one.metric - other.metric);
  return routes.map(({ interfaceName }) => interfaceName);
}
