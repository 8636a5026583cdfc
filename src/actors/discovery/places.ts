// Decides on which interfaces and by which protocols the service is announced, from the addresses at which
// the node listens. Pure.

import { EVERY_INTERFACE, PROTOCOLS } from '../../protocol/dbus/avahi.js';

export interface NetworkInterface {
  readonly name: string;
  readonly index: number;
  readonly addresses: readonly { readonly address: string; readonly family: 'IPv4' | 'IPv6' }[];
}

/**
 * The interfaces on which Avahi announces: all that are up, and have an address and multicast. Loopback and
 * links to a single peer are left out.
 */
export type NetworkInterfaces = readonly NetworkInterface[];

/** Where Avahi announces: on one interface or on all, by one protocol or both. */
export type Place = readonly [index: number, protocol: (typeof PROTOCOLS)[keyof typeof PROTOCOLS]];

/**
 * The wildcard addresses. A node at the IPv6 wildcard accepts IPv4, too. So a node listens at no more than
 * one wildcard (gateway/bind.ts).
 */
const WILDCARDS: ReadonlyMap<string, Place> = new Map([
  ['::', [EVERY_INTERFACE, PROTOCOLS.both]],
  ['0.0.0.0', [EVERY_INTERFACE, PROTOCOLS.IPv4]],
]);

/**
 * The places at which to announce a node that listens at these addresses. Empty if there are no interfaces,
 * if all addresses are loopback addresses, or if no interface has them any more.
 *
 * A wildcard address is one place for all interfaces. Each interface with an address in `listening` is one
 * place, too, even if the node listens there by both protocols. If each protocol had a place of its own,
 * avahi-daemon 0.8 would withdraw a record at only one of the two places (is_duplicate_entry in
 * avahi-core/announce.c). At the other place the record would stay until its time to live ends.
 */
export function announcementPlaces(
  listening: readonly string[],
  interfaces: NetworkInterfaces,
): readonly Place[] {
  if (interfaces.length === 0) return [];
  const wildcardPlace = listening
    .map((address) => WILDCARDS.get(address))
    .find((place) => place !== undefined);
  const interfacePlaces = interfaces
    .map((one) => interfacePlace(one, listening))
    .filter((place) => place !== undefined);
  // Both kinds of places exist if the node listens at the IPv4 wildcard and at IPv6 addresses of interfaces.
  return wildcardPlace === undefined ? interfacePlaces : [wildcardPlace, ...interfacePlaces];
}

/** The names of the interfaces on which the node is announced, for people. */
export function announcedInterfaceNames(
  listening: readonly string[],
  interfaces: NetworkInterfaces,
): readonly string[] {
  const hasWildcardFor = ({ addresses }: NetworkInterface): boolean =>
    listening.includes('::') ||
    (listening.includes('0.0.0.0') && addresses.some(({ family }) => family === 'IPv4'));
  return interfaces
    .filter((one) => hasWildcardFor(one) || interfacePlace(one, listening) !== undefined)
    .map(({ name }) => name);
}

/** Undefined if the node listens at no address of the interface. */
function interfacePlace(
  { name, index, addresses }: NetworkInterface,
  listening: readonly string[],
): Place | undefined {
  // A link-local address in `listening` has the interface's name behind it, as in `fe80::1%eth0`.
  const isListening = (address: string): boolean =>
    listening.includes(address) || listening.includes(`${address}%${name}`);
  const used = addresses.filter(({ address }) => isListening(address));
  const families = new Set(used.map(({ family }) => family));
  const [first] = families;
  if (first === undefined) return undefined;
  return [index, families.size === 1 ? PROTOCOLS[first] : PROTOCOLS.both];
}
