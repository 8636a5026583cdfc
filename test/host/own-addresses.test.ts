// The order in which people see the addresses of this machine, and the kernel's tables that decide this
// order.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { configurationUrl } from '../../src/actors/mqtt/home-assistant.js';
import { defaultRoutes, defaultRoutes6, rankedBy, reachableAt } from '../../src/host/own-addresses.js';
import { v4, v6 } from '../gateway/interfaces.js';

/**
 * The system lists interfaces by their age. After a restart of the network, wlan0 and eth0 are younger than
 * docker0 and wg0, so they are listed later. `eth0:1` is the label of another address of eth0.
 */
const HOUSE = {
  lo: [v4('127.0.0.1'), v6('::1')],
  docker0: [v4('172.17.0.1')],
  wg0: [v4('10.10.0.1')],
  wlan0: [v4('192.168.1.7')],
  eth0: [v6('fe80::2'), v6('fd00::2'), v4('192.168.1.5')],
  'eth0:1': [v4('192.168.1.6')],
};
const isPhysical = (name: string): boolean => ['wlan0', 'eth0'].includes(name);

/**
 * Each interface has its IPv4 addresses first. Loopback is left out, and so is fe80::2, because URLs cannot
 * contain the zone that it needs.
 */
const ORDERS: readonly (readonly [criterion: string, onDefaultRoutes: string[], addresses: string])[] = [
  ['the default route', ['eth0'], '192.168.1.5 fd00::2 192.168.1.6 192.168.1.7 172.17.0.1 10.10.0.1'],
  [
    // If both counted alike, the address of wlan0 would be the first, as in the next row.
    'the order of two default routes',
    ['eth0', 'wlan0'],
    '192.168.1.5 fd00::2 192.168.1.6 192.168.1.7 172.17.0.1 10.10.0.1',
  ],
  [
    'the kind of interface, where there is no default route',
    [],
    '192.168.1.7 192.168.1.5 fd00::2 192.168.1.6 172.17.0.1 10.10.0.1',
  ],
];
for (const [criterion, onDefaultRoutes, addresses] of ORDERS) {
  test(`the addresses are ordered by ${criterion}`, () => {
    const ordered = rankedBy(HOUSE, { onDefaultRoutes, isPhysical });
    const listed = reachableAt(['::'], ordered).map(({ info }) => info.address);
    assert.equal(listed.join(' '), addresses);
  });
}

test("Home Assistant's link to the page has the first address, or the node's name if all addresses are link-local", () => {
  const served = { port: 8018, addresses: ['::'] };
  const ordered = rankedBy(HOUSE, { onDefaultRoutes: ['eth0'], isPhysical });
  assert.equal(configurationUrl('kitchen', served, ordered), 'http://192.168.1.5:8018');

  const withLinkLocalOnly = {
    ...HOUSE,
    eth0: [v4('169.254.3.4')],
    'eth0:1': [],
    docker0: [],
    wg0: [],
    wlan0: [],
  };
  assert.equal(configurationUrl('kitchen', served, withLinkLocalOnly), 'http://kitchen.local:8018');
});

test('the default routes of IPv4 are read in the order of their metrics', () => {
  // The routes of the last three lines are left out. The mask of tun0 covers only half of all addresses. The
  // route of docker0 is for one network. The flags of down0 lack 0x1, so its route is not usable.
  const table = `Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT
wlan0\t00000000\t0101A8C0\t0003\t0\t0\t600\t00000000\t0\t0\t0
eth0\t00000000\t0101A8C0\t0003\t0\t0\t100\t00000000\t0\t0\t0
tun0\t00000000\t0101A8C0\t0003\t0\t0\t50\t00000080\t0\t0\t0
docker0\t000011AC\t00000000\t0001\t0\t0\t0\t0000FFFF\t0\t0\t0
down0\t00000000\t0101A8C0\t0002\t0\t0\t1\t00000000\t0\t0\t0
`;
  assert.deepEqual(defaultRoutes(table), ['eth0', 'wlan0']);
  assert.deepEqual(defaultRoutes(''), []);
});

test('the default routes of IPv6 are read in the order of their metrics, without routes that refuse packets', () => {
  const zeros = '0'.repeat(32);
  const gateway = 'fe800000000000000000000000000001';
  const oneNetwork = 'fd000000000000000000000000000000';
  // The last three routes are left out. The route of docker0 is for one network. The flags of lo contain
  // 0x200, so its route refuses packets. The flags of down0 lack 0x1, so its route is not usable.
  const table = [
    { destination: zeros, prefix: '00', metric: '00000258', flags: '00000003', name: 'wlan0' },
    { destination: zeros, prefix: '00', metric: '00000064', flags: '00450003', name: 'eth0' },
    { destination: oneNetwork, prefix: '40', metric: '00000001', flags: '00000001', name: 'docker0' },
    { destination: zeros, prefix: '00', metric: 'ffffffff', flags: '00200201', name: 'lo' },
    { destination: zeros, prefix: '00', metric: '00000001', flags: '00000002', name: 'down0' },
  ]
    .map(
      ({ destination, prefix, metric, flags, name }) =>
        `${destination} ${prefix} ${zeros} 00 ${gateway} ${metric} 00000001 00000000 ${flags}     ${name}`,
    )
    .join('\n');
  assert.deepEqual(defaultRoutes6(table), ['eth0', 'wlan0']);
});
