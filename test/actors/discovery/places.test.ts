// Tests where a node is announced: on which interfaces, and by which protocols. ROWS has a row for each kind
// of address at which a node listens.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  announcedInterfaceNames,
  announcementPlaces,
  type NetworkInterface,
  type NetworkInterfaces,
} from '../../../src/actors/discovery/places.js';

function networkInterface(name: string, index: number, ...addresses: readonly string[]): NetworkInterface {
  const familyOf = (address: string) => (address.includes(':') ? 'IPv6' : 'IPv4');
  return { name, index, addresses: addresses.map((address) => ({ address, family: familyOf(address) })) };
}

const LAN = networkInterface('lan0', 2, '192.168.77.5', 'fd00::5', 'fe80::5');
const WLAN = networkInterface('wlan0', 3, '192.168.78.5', '192.168.78.6');
const IPV6_ONLY = networkInterface('v6', 4, 'fd00::6');

/**
 * A place is written as the index of an interface and a protocol: 0 for IPv4, 1 for IPv6. -1 stands for all
 * interfaces or for both protocols.
 */
const ROWS: readonly (readonly [what: string, listenAddresses: readonly string[], places: string])[] = [
  ['the loopback addresses', ['127.0.0.1', '::1'], ''],
  ['an address that no interface has any more', ['192.168.77.9'], ''],
  ['an IPv4 address', ['127.0.0.1', '192.168.77.5'], '2,0'],
  ['an IPv6 address', ['fd00::5'], '2,1'],
  ['a link-local address', ['fe80::5%lan0'], '2,1'],
  ['a link-local address that another interface has', ['fe80::5%wlan0'], ''],
  ['IPv4 and IPv6 addresses of one interface', ['192.168.77.5', 'fd00::5', 'fe80::5%lan0'], '2,-1'],
  ['two IPv4 addresses of one interface', ['192.168.78.5', '192.168.78.6'], '3,0'],
  ['addresses of two interfaces', ['192.168.77.5', '192.168.78.5'], '2,0 3,0'],
  ['every address', ['::'], '-1,-1'],
  ['every IPv4 address', ['0.0.0.0'], '-1,0'],
  ['every IPv4 address and at one IPv6 address', ['0.0.0.0', 'fd00::5'], '-1,0 2,1'],
];
for (const [what, listenAddresses, places] of ROWS) {
  const where = places === '' ? 'no place' : `interface and protocol ${places}`;
  test(`a node that listens at ${what} is announced at ${where}`, () =>
    assert.equal(announcementPlaces(listenAddresses, [LAN, WLAN]).join(' '), places));
}

test('a machine whose only interface is loopback announces nothing, although it listens everywhere', () => {
  // A list of the type `NetworkInterfaces` (places.ts) never has a loopback interface.
  const interfaces: NetworkInterfaces = [];
  assert.deepEqual(announcementPlaces(['::'], interfaces), []);
});

for (const [listenAddresses, interfaceNames] of [
  [['127.0.0.1'], ''],
  [['127.0.0.1', '192.168.78.5'], 'wlan0'],
  [['0.0.0.0'], 'lan0 wlan0'],
  [['::'], 'lan0 wlan0 v6'],
  [['0.0.0.0', 'fd00::6'], 'lan0 wlan0 v6'],
] as const) {
  test(`a node that listens at ${listenAddresses} is announced on ${interfaceNames || 'no interface'}`, () =>
    assert.equal(announcedInterfaceNames(listenAddresses, [LAN, WLAN, IPV6_ONLY]).join(' '), interfaceNames));
}
