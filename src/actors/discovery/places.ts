// Where the service is announced: turns listening addresses into Avahi's interfaces and protocols. Pure: the
// interfaces are an argument.

import { EVERY_INTERFACE, PROTOCOLS } from '../../protocol/dbus/avahi.js';

export interface Interface {
  readonly name: string;
  readonly index: number;
  readonly addresses: readonly { readonly address: string; readonly family: 'IPv4' | 'IPv6' }[];
}

/**
 * All interfaces that are up, have an address and can multicast, without loopback: Avahi announces on no
 * others.
 */
export type Interfaces = readonly Interface[];

export type Place = readonly [index: number, protocol: (typeof PROTOCOLS)[keyof typeof PROTOCOLS]];

/** Wildcard addresses; the IPv6 one accepts IPv4 too (gateway/bind.ts). */
const EVERYWHERE: ReadonlyMap<string, Place> = new Map([
  ['::', [EVERY_INTERFACE, PROTOCOLS.both]],
  ['0.0.0.0', [EVERY_INTERFACE, PROTOCOLS.IPv4]],
]);

/**
 * Empty for loopback, and for addresses that no interface has any more. A service on all addresses gets one
 * entry for all interfaces, and one interface one entry for both protocols: avahi-daemon 0.8 sends one
 * goodbye for a record, even if it was given for several interfaces one by one (is_duplicate_entry in
 * avahi-core/announce.c), and on the other interfaces the record stays until its time to live ends.
 */
export function placesOf(listening: readonly string[], interfaces: Interfaces): readonly Place[] {
  if (interfaces.length === 0) return [];
  const everywhere = listening.map((address) => EVERYWHERE.get(address)).find((place) => place !== undefined);
  const named = interfaces.flatMap((one) => placeAt(one, listening));
  return everywhere === undefined ? named : [everywhere, ...named];
}

/** For people: the names of the interfaces that these addresses are announced on. */
export function announcedOn(listening: readonly string[], interfaces: Interfaces): readonly string[] {
  const isServed = ({ addresses }: Interface): boolean =>
    listening.includes('::') ||
    (listening.includes('0.0.0.0') && addresses.some(({ family }) => family === 'IPv4'));
  return interfaces
    .filter((each) => isServed(each) || placeAt(each, listening).length > 0)
    .map(({ name }) => name);
}

function placeAt({ name, index, addresses }: Interface, listening: readonly string[]): readonly Place[] {
  // A link-local listening address is followed by its interface's name.
  const isServed = (address: string) =>
    listening.includes(address) || listening.includes(`${address}%${name}`);
  const families = new Set(addresses.filter(({ address }) => isServed(address)).map(({ family }) => family));
  const [first] = families;
  if (first === undefined) return [];
  return [[index, families.size === 1 ? PROTOCOLS[first] : PROTOCOLS.both]];
}
