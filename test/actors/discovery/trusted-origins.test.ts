// Tests which origins of another node are trusted (docs/http-api.md, "The house"). That node is configured,
// or it was announced, perhaps by a stranger. Tests also to which origins of a configured node the page of
// the daemon's own node may connect.

import assert from 'node:assert/strict';
import { BlockList, isIP } from 'node:net';
import { test } from 'node:test';
import { announcedNode, parseSighting } from '../../../src/actors/discovery/sighting.js';
import { configuredOrigins, trustedOrigins } from '../../../src/actors/discovery/trusted-origins.js';
import type { NodeRecord } from '../../../src/protocol/actor/schemas.js';
import { SEED, SeededRandom } from '../../seeded-random.js';

const NODE: NodeRecord = {
  name: 'attic',
  host: 'attic.local',
  addresses: [],
  port: 8018,
  path: '/ui',
  api: 'tonearm',
  self: false,
};

const ROWS: readonly (readonly [what: string, node: Partial<NodeRecord>, origins: readonly string[]])[] = [
  ['a name below .local', {}, ['http://attic.local:8018']],
  ['a host name in capitals that no browser sends', { host: 'Attic.LOCAL' }, ['http://attic.local:8018']],
  ['an address as its host', { host: '192.168.1.7' }, ['http://192.168.1.7:8018']],
  ['an IPv6 address as its host', { host: 'fd00:0:0::7' }, ['http://[fd00::7]:8018']],
  ['a link-local address as its host', { host: '169.254.3.4' }, ['http://169.254.3.4:8018']],
  [
    'several addresses',
    { addresses: ['10.0.0.7', '172.16.0.1', 'fd00::7'] },
    ['http://10.0.0.7:8018', 'http://172.16.0.1:8018', 'http://[fd00::7]:8018', 'http://attic.local:8018'],
  ],
  ['the usual port of http', { port: 80 }, ['http://attic.local']],
  ['the usual port of https', { port: 443 }, ['https://attic.local']],
  ['the API odio-api', { api: 'odio-api' }, []],
  ['a name of the web', { host: 'evil.example' }, []],
  ['a name of the web that looks like one of the house', { host: 'attic.local.evil.example' }, []],
  ['only the suffix local as its host name', { host: 'local' }, []],
  ['a name that only a name server of the house knows', { host: 'attic.lan' }, []],
  ['a public address', { host: '93.184.215.14', addresses: ['93.184.215.14', '2a00::1'] }, []],
  [
    'addresses just outside the private networks',
    { host: '172.32.0.1', addresses: ['11.0.0.1', '192.169.0.1'] },
    [],
  ],
  ['loopback addresses', { host: '127.0.0.1', addresses: ['::1'] }, []],
  ['a private IPv4 address in the notation of IPv6', { host: '::ffff:192.168.1.7' }, []],
  ['a name that is no valid host of a URL', { host: 'a^b.local' }, []],
];
for (const [what, node, origins] of ROWS)
  test(`a node with ${what} has these trusted origins: ${origins.join(', ') || 'none'}`, () =>
    assert.deepEqual(trustedOrigins({ ...NODE, ...node }), origins));

const CONFIGURED_ROWS: typeof ROWS = [
  ['a name of the web, with https', { host: 'node.example.org', port: 443 }, ['https://node.example.org']],
  [
    'a name, and an address outside the private networks',
    { host: 'node.vpn', addresses: ['100.64.0.1'] },
    ['http://100.64.0.1:8018', 'http://node.vpn:8018'],
  ],
  ['an IPv6 address', { host: '2a00:0::1' }, ['http://[2a00::1]:8018']],
  ['the API odio-api', { api: 'odio-api' }, []],
  ['a name with a wildcard', { host: '*.example.org' }, []],
  ['a name that would begin another rule of the Content-Security-Policy', { host: 'a;sandbox' }, []],
  ['a name that would begin another Content-Security-Policy', { host: 'a,b' }, []],
  ['a name that is too long for any name server', { host: 'a'.repeat(254) }, []],
];
for (const [what, node, origins] of CONFIGURED_ROWS)
  test(`this node's page may connect to these origins of a configured node with ${what}: ${origins.join(', ') || 'none'}`, () =>
    assert.deepEqual(configuredOrigins({ ...NODE, ...node }), origins));

const UNTRUSTED_ADDRESSES = [
  '93.184.215.14',
  '8.8.8.8',
  '2a00:1450::1',
  '11.1.1.1',
  '172.32.0.9',
  '100.64.0.1',
  '::1',
];
const TRUSTED_ADDRESSES = ['192.168.1.7', '10.1.2.3', '172.20.0.1', 'fd12::1', '169.254.1.1'];
/** Names are joined from these pieces. Some pieces, such as `/` and `@`, end or change the host of a URL. */
const HOST_PIECES = [
  'evil',
  'example',
  'com',
  'local',
  'xn--p1ai',
  '192',
  '168',
  '1',
  '_',
  '@',
  '/',
  '#',
  ':80',
  '%',
  ' ',
];

function createHouseNetworks(): BlockList {
  const list = new BlockList();
  const networks = { '10.0.0.0': 8, '172.16.0.0': 12, '192.168.0.0': 16, '169.254.0.0': 16 };
  for (const [network, bits] of Object.entries(networks)) list.addSubnet(network, bits);
  list.addSubnet('fc00::', 7, 'ipv6');
  list.addSubnet('fe80::', 10, 'ipv6');
  return list;
}

/** `host` comes from a URL, which has an IPv6 address in brackets. */
function isOfHouse(host: string, houseNetworks: BlockList): boolean {
  const hostWithoutBrackets = host.replace(/^\[(.*)\]$/, '$1');
  const family = isIP(hostWithoutBrackets);
  if (family === 0) return host.endsWith('.local');
  return houseNetworks.check(hostWithoutBrackets, family === 6 ? 'ipv6' : 'ipv4');
}

const ROUNDS = 2000;

test('no announcement gives trust to a name of the web or to a public address', () => {
  const random = new SeededRandom(SEED);
  const houseNetworks = createHouseNetworks();
  let trustedCount = 0;
  for (let round = 0; round < ROUNDS; round += 1) {
    const strangeHost = Array.from({ length: 1 + random.below(4) }, () => random.pick(HOST_PIECES)).join('.');
    const address = random.pick([...UNTRUSTED_ADDRESSES, ...TRUSTED_ADDRESSES]);
    const host = random.pick([strangeHost, `${strangeHost}.local`, address]);
    const service = { name: 'x', host, address, port: 8018 };
    const isLocal = random.below(2) === 0;
    const sighting = parseSighting(service, [Buffer.from('api=tonearm')], isLocal);
    const ownName = undefined;
    const node = sighting && announcedNode([sighting], ownName);
    if (node === undefined) continue;
    for (const origin of trustedOrigins(node)) {
      trustedCount += 1;
      const { hostname, port } = new URL(origin);
      assert.ok(isOfHouse(hostname, houseNetworks), `${origin} of ${JSON.stringify(service)}`);
      assert.equal(port, '8018', origin);
    }
  }
  assert.ok(trustedCount > 100, 'many announced origins are trusted');
});
