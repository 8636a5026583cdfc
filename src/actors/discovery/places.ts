// Decides where the service is announced: on which of Avahi's interfaces and by which protocols, from the
// addresses at which the node listens. Pure: the interfaces are an argument.

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

/** The wildcard addresses. The one of IPv6 accepts IPv4, too (gateway/bind.ts). */
const WILDCARDS: ReadonlyMap<string, Place> = new Map([
  ['::', [EVERY_INTERFACE, PROTOCOLS.both]],
  ['0.0.0.0', [EVERY_INTERFACE, PROTOCOLS.IPv4]],
]);

/**
 * The places where a node is announced that listens at these addresses. Empty if all addresses are loopback
 * addresses, or if no interface has them any more.
 *
 * A wildcard address is one place for all interfaces, and an interface is one place for both protocols. That
 * is necessary for the end of the announcement: avahi-daemon 0.8 then sends only one goodbye for a record,
 * even if the record was added for several interfaces one by one (is_duplicate_entry in
 * avahi-core/announce.c). On the other interfaces the record would stay until its time to live ends.
 */
export function placesOf(listening: readonly string[], interfaces: Interfaces): readonly Place[] {
  if (interfaces.length === 0) return [];
  const [wildcard] = listening
    .map((address) => WILDCARDS.get(address))
    .filter((place) => place !== undefined);
  const single = interfaces.map((each) => placeAt(each, listening)).filter((place) => place !== undefined);
  return wildcard === undefined ? single : [wildcard, ...single];
}

/** The names of the interfaces on which a node is announced that listens at these addresses, for people. */
export function announcedOn(listening: readonly string[], interfaces: Interfaces): readonly string[] {
  const hasWildcardFor = ({ addresses }: Interface): boolean =>
    listening.includes('::') ||
    (listening.includes('0.0.0.0') && addresses.some(({ family }) => family === 'IPv4'));
  return interfaces
    .filter((each) => hasWildcardFor(each) || placeAt(each, listening) !== undefined)
    .map(({ name }) => name);
}

/** Undefined if the node listens at no address of the interface. */
function placeAt({ name, index, addresses }: Interface, listening: readonly string[]): Place | undefined {
  // A node that listens at a link-local address has the interface's name behind that address.
  const isListening = (address: string): boolean =>
    listening.includes(address) || listening.includes(`${address}%${name}`);
  const used = addresses.filter(({ address }) => isListening(address));
  const families = new Set(used.map(({ family }) => family));
  const [first] = families;
  if (first === undefined) return undefined;
  return [index, families.size === 1 ? PROTOCOLS[first] : PROTOCOLS.both];
}
