// The addresses of this machine at which other machines reach it, the best one first. All parts that show an
// address to people take it from here.

import { existsSync } from 'node:fs';
import { isIP } from 'node:net';
import type { NetworkInterfaceInfo } from 'node:os';
import { textIfThere } from './text-if-there.js';

/** The result of `os.networkInterfaces()`: only interfaces that are up and have an address. */
export type InterfaceAddresses = Readonly<Record<string, readonly NetworkInterfaceInfo[] | undefined>>;

export interface OwnAddress {
  /** The name of its interface. */
  readonly name: string;
  readonly info: NetworkInterfaceInfo;
}

/**
 * The facts by which interfaces are ranked. The system lists interfaces by their age, and those of
 * containers and tunnels (docker0, wg0) may be older than the interface of the house's network.
 */
export interface Ranking {
  /** Interfaces of default routes, the preferred one first. */
  readonly routed: readonly string[];
  /** True if the interface is a device, and not made by software. */
  readonly isPhysical: (name: string) => boolean;
}

/** A socket on this address accepts IPv4, too, because uWebSockets.js makes it dual-stack (measured). */
export const EVERY_ADDRESS = '::';
export const EVERY_IPV4 = '0.0.0.0';

/** Flags of a route in the kernel's `route.h`: the route is usable; the route refuses what matches it. */
const RTF_UP = 0x0001;
const RTF_REJECT = 0x0200;

/**
 * The addresses at which other machines reach sockets on the addresses of `served`, in the order of
 * `interfaces`. The IPv4 addresses of an interface come first, because they are easier to type. Link-local
 * addresses of IPv6 are left out, because they need a zone, which URLs cannot contain.
 */
export function reachableAt(
  served: readonly string[],
  interfaces: InterfaceAddresses,
): readonly OwnAddress[] {
  const isServed = ({ address, family }: NetworkInterfaceInfo): boolean =>
    served.includes(address) ||
    served.includes(EVERY_ADDRESS) ||
    (family === 'IPv4' && served.includes(EVERY_IPV4));
  const isReachable = (info: NetworkInterfaceInfo): boolean =>
    !info.internal && !isLinkLocal(info.address) && isServed(info);
  return Object.entries(interfaces).flatMap(([name, infos = []]) =>
    infos
      .filter(isReachable)
      .sort((one, other) => familyRank(one) - familyRank(other))
      .map((info) => ({ name, info })),
  );
}

function familyRank({ family }: NetworkInterfaceInfo): number {
  return family === 'IPv4' ? 0 : 1;
}

/**
 * The interface's name without a label. An IPv4 address may have a label, as in `eth0:1`, and the system
 * lists this text as if it were another interface.
 */
export function deviceOf(name: string): string {
  return name.replace(/:.*/, '');
}

/**
 * Puts the interfaces first that lead to the house's network: those of default routes, then devices, then
 * those made by software. It reads the kernel's tables.
 */
export function bestFirst(interfaces: InterfaceAddresses): InterfaceAddresses {
  return rankedBy(interfaces, readRanking());
}

export function rankedBy(
  interfaces: InterfaceAddresses,
  { routed, isPhysical }: Ranking,
): InterfaceAddresses {
  const rankOf = (device: string): number => {
    const at = routed.indexOf(device);
    return at >= 0 ? at : routed.length + (isPhysical(device) ? 0 : 1);
  };
  const ranked = Object.entries(interfaces).map(([name, infos]) => ({
    name,
    infos,
    rank: rankOf(deviceOf(name)),
  }));
  ranked.sort((one, other) => one.rank - other.rank);
  return Object.fromEntries(ranked.map(({ name, infos }) => [name, infos]));
}

export function isLinkLocal(address: string): boolean {
  return /^fe[89ab]/i.test(address) && isIP(address) === 6;
}

function readRanking(): Ranking {
  const v4 = defaultRoutes(textIfThere('/proc/net/route'));
  const v6 = defaultRoutes6(textIfThere('/proc/net/ipv6_route'));
  return {
    routed: [...new Set([...v4, ...v6])],
    isPhysical: (name) => existsSync(`/sys/class/net/${name}/device`),
  };
}

/** The interfaces of default routes in the text of /proc/net/route, by their metrics. */
export function defaultRoutes(table: string): readonly string[] {
  const rows = table.split('\n').map((line) => line.split(/\s+/));
  const routes = rows.flatMap(([name = '', destination, , flags = '', , , metric = '', mask]) => {
    const isDefault = destination === '00000000' && mask === '00000000';
    return isDefault && isUsable(flags) ? [{ name, metric: Number(metric) }] : [];
  });
  return byMetric(routes);
}

/** The interfaces of default routes in the text of /proc/net/ipv6_route, by their metrics. */
export function defaultRoutes6(table: string): readonly string[] {
  const rows = table.split('\n').map((line) => line.trim().split(/\s+/));
  const routes = rows.flatMap(([destination = '', prefix, , , , metric = '', , , flags = '', name = '']) => {
    const isDefault = /^0+$/.test(destination) && prefix === '00';
    return isDefault && isUsable(flags) ? [{ name, metric: Number.parseInt(metric, 16) }] : [];
  });
  return byMetric(routes);
}

function isUsable(flags: string): boolean {
  return (Number.parseInt(flags, 16) & (RTF_UP | RTF_REJECT)) === RTF_UP;
}

function byMetric(routes: readonly { readonly name: string; readonly metric: number }[]): readonly string[] {
  return [...routes].sort((one, other) => one.metric - other.metric).map(({ name }) => name);
}
