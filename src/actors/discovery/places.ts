// Where the service is to be announced: from the addresses that are listened on to interfaces and protocols, as Avahi counts them.
// Pure: the machine's interfaces are an argument.
//
// avahi-daemon 0.8 says goodbye for a record once, however many interfaces it has been given for it one by one (is_duplicate_entry in
// avahi-core/announce.c; seen): the others are left to the record's time to live. So whoever listens everywhere is announced everywhere
// by one entry, which is withdrawn everywhere, and one interface has one entry for both protocols.

import { EVERY_INTERFACE, PROTOCOLS } from '../../protocol/dbus/avahi.js';

export interface Interface {
  readonly name: string;
  readonly index: number;
  readonly addresses: readonly { readonly address: string; readonly family: 'IPv4' | 'IPv6' }[];
}

/** All that are up and have an address, loopback left out. */
export type Interfaces = readonly Interface[];

export type Place = readonly [index: number, protocol: (typeof PROTOCOLS)[keyof typeof PROTOCOLS]];

/** The sockets for every address; that of IPv6 takes IPv4 in too (gateway/bind.ts). */
const EVERYWHERE: ReadonlyMap<string, Place> = new Map([
  ['::', [EVERY_INTERFACE, PROTOCOLS.both]],
  ['0.0.0.0', [EVERY_INTERFACE, PROTOCOLS.IPv4]],
]);

/** None for loopback, and for addresses that are on no interface any more. */
export function placesOf(listening: readonly string[], interfaces: Interfaces): readonly Place[] {
  if (interfaces.length === 0) return [];
  const everywhere = listening.map((address) => EVERYWHERE.get(address)).find((place) => place !== undefined);
  const named = interfaces.flatMap((one) => placeAt(one, listening));
  return everywhere === undefined ? named : [everywhere, ...named];
}

function placeAt({ name, index, addresses }: Interface, listening: readonly string[]): readonly Place[] {
  // A link-local address is listened on with its interface's name behind it.
  const isServed = (address: string) =>
    listening.includes(address) || listening.includes(`${address}%${name}`);
  const families = new Set(addresses.filter(({ address }) => isServed(address)).map(({ family }) => family));
  const [first] = families;
  if (first === undefined) return [];
  return [[index, families.size === 1 ? PROTOCOLS[first] : PROTOCOLS.both]];
}
