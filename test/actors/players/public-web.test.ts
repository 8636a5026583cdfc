// Tests which addresses covers may be fetched from (docs/players.md, "Covers from the web").

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isPublic } from '../../../src/actors/players/public-web.js';

/** The node's networks in the house. */
const OWN = ['192.168.1.20/24', '198.41.0.5/24', '2a02:8070:1:2:3:4:5:6/64', 'fe80::1/64'];

const PUBLIC =
  '1.1.1.1 8.8.8.8 100.63.255.255 100.128.0.1 172.15.0.1 172.32.0.1 191.255.255.255 192.0.3.1 ' +
  '193.0.0.1 198.17.0.1 198.20.0.1 198.41.1.5 223.255.255.255 2a00:1450:4001:800::2004 ' +
  '2606:4700::1111 2001:4860:4860::8888 2a02:8070:2:2::1 64:ff9b::808:808 64:ff9b::8.8.8.8 ' +
  '0064:ff9b:0:0:0:0:0808:0808';
const NOT =
  '0.0.0.0 0.1.2.3 10.0.0.1 10.255.255.255 100.64.0.1 100.127.255.255 127.0.0.1 127.255.255.254 ' +
  '169.254.169.254 172.16.0.1 172.31.255.255 192.0.0.8 192.0.2.1 192.88.99.1 192.168.0.1 198.18.0.1 ' +
  '198.19.255.255 198.51.100.1 203.0.113.1 224.0.0.1 239.255.255.255 240.0.0.1 255.255.255.255 ' +
  '198.41.0.9 2a02:8070:1:2::99 :: ::1 ::ffff:8.8.8.8 ::ffff:192.168.1.1 ::8.8.8.8 fc00::1 ' +
  'fd12:3456::1 fe80::1 fe80::1%eth0 fec0::1 ff02::1 100::1 2001::1 2001:db8::1 2002:c0a8:101::1 ' +
  '3fff::1 4000::1 64:ff9b::c0a8:101 64:ff9b::10.0.0.1 64:ff9b::1 64:ff9b:: 64:ff9b:1::808:808 ' +
  '64:ff9b::198.41.0.9 localhost 8.8.8 0x08080808 134744072 8.8.8.8%eth0 [2606:4700::1111]';

for (const [addresses, expected] of [
  [PUBLIC, true],
  // The last one is empty.
  [`${NOT} `, false],
] as const) {
  test(`these addresses are ${expected ? '' : 'not '}public`, () => {
    for (const address of addresses.split(' ')) assert.equal(isPublic(address, OWN), expected, address);
  });
}

test('the house is the prefix of 48 bits, however narrow the network of the node is', () =>
  assert.equal(isPublic('2a00:1:2:44::1', ['2a00:1:2:3::5/128']), false));
