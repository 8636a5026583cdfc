// Decides on which interfaces and by which protocols Avahi announces this node. This depends on the addresses
// at which the node listens. Pure.

import { EVERY_INTERFACE, PROTOCOLS } from '../../protocol/dbus/avahi.js';

export interface NetworkInterface {
  readonly name: string;
  readonly index: number;
  readonly addresses: readonly { readonly address: string; readonly family: 'IPv4' | 'IPv6' }[];
}

/**
 * The interfaces on which Avahi can announce: all that are up, and have an address and multicast. Loopback
 * and links to a single peer are left out.
 */
export type NetworkInterfaces = readonly NetworkInterface[];

/** Where Avahi announces the node: on one interface or on all, by one protocol or by both. */
export type Place = readonly [index: number, protocol: (typeof PROTOCOLS)[keyof typeof PROTOCOLS]];

/**
 * The place of each wildcard address. A node that listens at the IPv6 wildcard accepts IPv4, too. So a node
 * never listens at both wildcards (gateway/bind.ts).
 */
const WILDCARDS: ReadonlyMap<string, Place> = new Map([
  ['::', [EVERY_INTERFACE, PROTOCOLS.both]],
  ['0.0.0.0', [EVERY_INTERFACE, PROTOCOLS.IPv4]],
]);

/**
 * The places at which Avahi announces a node that listens at the addresses in `listening`. Empty if
 * `interfaces` is empty. Also empty if `listening` has neither a wildcard nor an address of one of these
 * interfaces, for instance if all its addresses are loopback addresses.
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

/** Undefined if `listening` has no address of the interface itself. Wildcards do not count here. */
function interfacePlace(
  { name, index, addresses }: NetworkInterface,
  listening: readonly string[],
): Place | undefined {
  // A link-local address in `listening` has the interface's name behind it, as in `fe80::1%eth0`.
  const isListening = (address: string): boolean =>
    listening.includes(address) || listening.includes(`${address}%${name}`);
  const usedAddresses = addresses.filter(({ address }) => isListening(address));
  const families = new Set(usedAddresses.map(({ family }) => family));
  const [firstFamily] = families;
  if (firstFamily === undefined) return undefined;
  return [index, families.size === 1 ? PROTOCOLS[firstFamily] : PROTOCOLS.both];
}
