// Tests the records of configured nodes and of nodes that were found on the network. A configured node that
// was also found has one record (docs/configuration.md, "Finding nodes"). Tests also which origins are
// trusted, and to which origins this node's page may connect.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ConfiguredNode } from '../../../src/actors/discovery/configured-nodes.js';
import { KnownNodes } from '../../../src/actors/discovery/known-nodes.js';
import { parseSighting, type Sighting } from '../../../src/actors/discovery/sighting.js';
import type { NodeRecord } from '../../../src/protocol/actor/schemas.js';
import { Recorder } from '../recorder.js';

const OWN_PORT = 8018;

function createKnownNodes({ isTrusting = true } = {}) {
  const publish = new Recorder();
  const nodes = new KnownNodes({
    publish,
    isTrusting,
    ownName: () => 'kitchen',
    ownPort: () => OWN_PORT,
  });
  nodes.setIsUp(true);
  return {
    nodes,
    publish,
    list: () => publish.all<NodeRecord>('nodes'),
    /** The origins whose pages are trusted here. */
    origins: () => publish.keys('nodes.origins'),
    /** The origins to which this node's page may connect. */
    policy: () => publish.keys('nodes.policy'),
  };
}

function sightingWith(name: string, address: string, port = 8018, host = `${name}.local`): Sighting {
  const service = { name, host, address, port };
  const isLocal = false;
  return parseSighting(service, [Buffer.from('api=tonearm')], isLocal) ?? assert.fail(`${name} is no node`);
}

/** A node that has answered from `address`; without `address`, a node that does not answer. */
function configuredNode(url: string, address?: string, { isOwnAddress = false } = {}): ConfiguredNode {
  const answer = address === undefined ? undefined : { api: 'tonearm' as const, address, isOwnAddress };
  return { url: new URL(url), answer, isReachable: answer !== undefined };
}

test('a configured node that was not found is named by its address, and also by its port if the port is not 8018', () => {
  const { nodes, list, origins } = createKnownNodes();
  nodes.setConfigured([
    configuredNode('http://10.8.0.3:8018', '10.8.0.3'),
    configuredNode('http://10.8.0.3:81'),
  ]);
  const common = { host: '10.8.0.3', addresses: ['10.8.0.3'], path: '/ui', api: 'tonearm', self: false };
  assert.deepEqual(list(), [
    { name: '10.8.0.3', ...common, port: 8018, configured: true, reachable: true },
    { name: '10.8.0.3:81', ...common, port: 81, configured: true, reachable: false },
  ]);
  // The address is also the host, so each node has only one origin.
  assert.deepEqual(origins(), ['http://10.8.0.3:8018', 'http://10.8.0.3:81']);
});

test('a node that was found and is also configured, by a name or an address, is listed once', () => {
  const { nodes, list } = createKnownNodes();
  nodes.setSightings([sightingWith('attic', '192.168.1.7'), sightingWith('cellar', '192.168.1.8')]);
  // The first two URLs lead to `attic`. The node is reachable, because it answers at the second URL.
  nodes.setConfigured([
    configuredNode('http://192.168.1.7:8018'),
    configuredNode('http://attic.vpn:8018', '192.168.1.7'),
    configuredNode('http://cellar.local:8018'),
  ]);
  const listed = list().map(({ name, configured, reachable }) => [name, configured, reachable]);
  assert.deepEqual(listed, [
    ['attic', true, true],
    ['cellar', true, false],
  ]);

  nodes.setConfigured([]);
  assert.deepEqual(
    list().map(({ configured, reachable }) => [configured, reachable]),
    [
      [undefined, undefined],
      [undefined, undefined],
    ],
  );
});

test('a found node whose host name has capitals is listed once if it is also configured', () => {
  const { nodes, list } = createKnownNodes();
  nodes.setSightings([sightingWith('Kitchen', '192.168.1.7', 8018, 'Kitchen.local')]);
  nodes.setConfigured([configuredNode('http://Kitchen.local:8018')]);
  const listed = list().map(({ name, host, configured }) => [name, host, configured]);
  assert.deepEqual(listed, [['Kitchen', 'kitchen.local', true]]);
});

test('a configured node with another port or another address than the found node is another node', () => {
  const { nodes, list } = createKnownNodes();
  nodes.setSightings([sightingWith('attic', '192.168.1.7')]);
  nodes.setConfigured([configuredNode('http://192.168.1.7:9000'), configuredNode('http://192.168.1.9:8018')]);
  const names = list().map(({ name }) => name);
  assert.deepEqual(names, ['attic', '192.168.1.7:9000', '192.168.1.9']);
});

test('a node that is configured by a name has the address that has answered, but it has no address if its URL has https', () => {
  const { nodes, list, origins } = createKnownNodes();
  nodes.setConfigured([
    configuredNode('http://attic.vpn', '10.8.0.4'),
    configuredNode('https://node.example.org', '10.8.0.5'),
  ]);
  const listed = list().map(({ name, addresses, port }) => [name, addresses, port]);
  // The certificate of https is for the name, so the address is of no use.
  assert.deepEqual(listed, [
    ['attic.vpn:80', ['10.8.0.4'], 80],
    ['node.example.org:443', [], 443],
  ]);
  assert.deepEqual(origins(), ['http://10.8.0.4']);
});

test('a configured node has no addresses if the connection ended before its address was read', () => {
  const { nodes, list } = createKnownNodes();
  const answer = { api: 'tonearm' as const, address: undefined, isOwnAddress: false };
  nodes.setConfigured([{ url: new URL('http://radio.lan:8018'), answer, isReachable: true }]);
  assert.deepEqual(
    list().map(({ addresses }) => addresses),
    [[]],
  );
});

test('a configured node is this node itself if it has both an address and the port of this node', () => {
  const { nodes, list } = createKnownNodes();
  nodes.setConfigured([
    configuredNode('http://10.8.0.3:8018', '10.8.0.3', { isOwnAddress: true }),
    configuredNode('http://10.8.0.3', '10.8.0.3', { isOwnAddress: true }),
  ]);
  assert.deepEqual(
    list().map(({ self }) => self),
    [true, false],
  );
});

test('if a stranger announces the name of a configured node, only the configured node is listed', () => {
  const { nodes, list } = createKnownNodes();
  const stranger = sightingWith('10.8.0.3', '192.168.1.66');
  // The stranger's host is `10.8.0.3.local`, so the stranger is not the configured node.
  nodes.setSightings([stranger]);
  nodes.setConfigured([configuredNode('http://10.8.0.3:8018')]);
  assert.deepEqual(
    list().map(({ host }) => host),
    ['10.8.0.3'],
  );
});

test('the trusted origins of a node follow its addresses and vanish with the node, but no origin is trusted if discovery.trust is false', () => {
  const untrusting = createKnownNodes({ isTrusting: false });
  untrusting.nodes.setConfigured([configuredNode('http://10.8.0.3:8018')]);
  assert.deepEqual([untrusting.list().length, untrusting.origins()], [1, []]);

  const { nodes, list, origins } = createKnownNodes();
  nodes.setSightings([sightingWith('attic', '192.168.1.7')]);
  assert.deepEqual(origins(), ['http://192.168.1.7:8018', 'http://attic.local:8018']);

  nodes.setSightings([sightingWith('attic', '192.168.1.9')]);
  // The recorder lists a new origin last.
  assert.deepEqual(origins(), ['http://attic.local:8018', 'http://192.168.1.9:8018']);
  nodes.setSightings([]);
  assert.deepEqual([list(), origins()], [[], []]);
});

test('the page of this node may connect to known nodes, even if their pages are not trusted here', () => {
  const { nodes, origins, policy } = createKnownNodes({ isTrusting: false });
  nodes.setSightings([sightingWith('attic', '192.168.1.7'), sightingWith('shed', '93.184.215.14')]);
  nodes.setConfigured([configuredNode('http://10.8.0.3:8018')]);
  assert.deepEqual(origins(), []);
  // The page may connect to the name of `shed`, but not to its public address.
  assert.deepEqual(policy(), [
    'http://192.168.1.7:8018',
    'http://attic.local:8018',
    'http://shed.local:8018',
    'http://10.8.0.3:8018',
  ]);

  nodes.setSightings([]);
  assert.deepEqual(policy(), ['http://10.8.0.3:8018']);
});

test('the page of this node may connect to every configured host, but only addresses of the house are trusted', () => {
  const { nodes, origins, policy } = createKnownNodes();
  nodes.setConfigured([
    configuredNode('https://kitchen.example.org', '93.184.215.14'),
    configuredNode('http://100.101.102.103:8018'),
    configuredNode('http://attic.lan:8018', '192.168.1.7'),
  ]);
  // Only 192.168.1.7 is an address of the house.
  assert.deepEqual(origins(), ['http://192.168.1.7:8018']);
  assert.deepEqual([...policy()].sort(), [
    'http://100.101.102.103:8018',
    'http://192.168.1.7:8018',
    'http://attic.lan:8018',
    'https://kitchen.example.org',
  ]);
});

test('if a stranger announces a configured node at a public address, the page of this node may not connect to this address', () => {
  const { nodes, list, policy } = createKnownNodes();
  nodes.setSightings([sightingWith('attic', '192.168.1.7'), sightingWith('attic', '93.184.215.14')]);
  nodes.setConfigured([configuredNode('http://192.168.1.7:8018')]);
  assert.deepEqual(
    list().map(({ addresses, configured }) => [addresses, configured]),
    [[['192.168.1.7', '93.184.215.14'], true]],
  );
  assert.deepEqual(policy(), ['http://192.168.1.7:8018', 'http://attic.local:8018']);
});
