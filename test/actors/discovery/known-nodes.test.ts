// Nodes of the configuration and nodes of the network, each once (docs/configuration.md, "Finding nodes"),
// and their records.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ConfiguredNode } from '../../../src/actors/discovery/configured-nodes.js';
import { KnownNodes } from '../../../src/actors/discovery/known-nodes.js';
import { parseSighting, type Sighting } from '../../../src/actors/discovery/sighting.js';
import type { NodeRecord } from '../../../src/protocol/actor/schemas.js';
import { Recorder } from '../recorder.js';

const OWN_PORT = 8018;

function createKnownNodes(isTrusting = true) {
  const publish = new Recorder();
  const nodes = new KnownNodes({
    publish,
    isTrusting,
    ownName: () => 'kitchen',
    ownPort: () => OWN_PORT,
  });
  nodes.setUp(true);
  return {
    nodes,
    publish,
    list: () => publish.all<NodeRecord>('nodes'),
    origins: () => publish.keys('nodes.origins'),
  };
}

function sightingWith(name: string, address: string, port = 8018): Sighting {
  const at = { name, host: `${name}.local`, address, port };
  return parseSighting(at, [Buffer.from('api=tonearm')], false) ?? assert.fail(name);
}

function configuredNode(url: string, address?: string, isOwnAddress = false): ConfiguredNode {
  const answer = address === undefined ? undefined : { api: 'tonearm' as const, address, isOwnAddress };
  return { url: new URL(url), answer, isReachable: answer !== undefined };
}

test('a node that only the configuration names has its address as its name and as its origin', () => {
  const { nodes, list, origins } = createKnownNodes();
  nodes.setConfigured([
    configuredNode('http://10.8.0.3:8018', '10.8.0.3'),
    configuredNode('http://10.8.0.3:81'),
  ]);
  const both = { host: '10.8.0.3', addresses: ['10.8.0.3'], path: '/ui', api: 'tonearm', self: false };
  assert.deepEqual(list(), [
    { name: '10.8.0.3', ...both, port: 8018, configured: true, reachable: true },
    { name: '10.8.0.3:81', ...both, port: 81, configured: true, reachable: false },
  ]);
  assert.deepEqual(origins(), ['http://10.8.0.3:8018', 'http://10.8.0.3:81']);
});

test('a node that was found and is also configured, by a name or an address, is listed once', () => {
  const { nodes, list } = createKnownNodes();
  nodes.setSightings([sightingWith('attic', '192.168.1.7'), sightingWith('cellar', '192.168.1.8')]);
  const urls = ['http://192.168.1.7:8018', 'http://attic.vpn:8018', 'http://cellar.local:8018'];
  nodes.setConfigured([
    configuredNode(urls[0] ?? ''),
    configuredNode(urls[1] ?? '', '192.168.1.7'),
    configuredNode(urls[2] ?? ''),
  ]);
  const found = list().map(({ name, configured, reachable }) => [name, configured, reachable]);
  assert.deepEqual(found, [
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

test('another port, or another machine, is another node', () => {
  const { nodes, list } = createKnownNodes();
  nodes.setSightings([sightingWith('attic', '192.168.1.7')]);
  nodes.setConfigured([configuredNode('http://192.168.1.7:9000'), configuredNode('http://192.168.1.9:8018')]);
  const names = list().map(({ name }) => name);
  assert.deepEqual(names, ['attic', '192.168.1.7:9000', '192.168.1.9']);
});

test('a node that is configured by a name has the address that has answered; with https it has no address', () => {
  const { nodes, list, origins } = createKnownNodes();
  nodes.setConfigured([
    configuredNode('http://attic.vpn', '10.8.0.4'),
    configuredNode('https://node.example.org', '10.8.0.5'),
  ]);
  const places = list().map(({ name, addresses, port }) => [name, addresses, port]);
  assert.deepEqual(places, [
    ['attic.vpn:80', ['10.8.0.4'], 80],
    ['node.example.org:443', [], 443],
  ]);
  assert.deepEqual(origins(), ['http://10.8.0.4']);
});

test('the node itself may be one of the configured ones', () => {
  const { nodes, list } = createKnownNodes();
  nodes.setConfigured([
    configuredNode('http://10.8.0.3:8018', '10.8.0.3', true),
    configuredNode('http://10.8.0.3', '10.8.0.3', true),
  ]);
  assert.deepEqual(
    list().map(({ self }) => self),
    [true, false],
  );
});

test('a stranger with the announced name of a configured node cannot take its place', () => {
  const { nodes, list } = createKnownNodes();
  nodes.setSightings([sightingWith('10.8.0.3', '192.168.1.66')]);
  nodes.setConfigured([configuredNode('http://10.8.0.3:8018')]);
  assert.deepEqual(
    list().map(({ host }) => host),
    ['10.8.0.3'],
  );
});

test('without trust no origin is published, and origins go with their nodes', () => {
  const wary = createKnownNodes(false);
  wary.nodes.setConfigured([configuredNode('http://10.8.0.3:8018')]);
  assert.deepEqual([wary.list().length, wary.origins()], [1, []]);
  const { nodes, list, origins } = createKnownNodes();
  nodes.setSightings([sightingWith('attic', '192.168.1.7')]);
  assert.deepEqual(origins(), ['http://192.168.1.7:8018', 'http://attic.local:8018']);
  nodes.setSightings([sightingWith('attic', '192.168.1.9')]);
  assert.deepEqual(origins(), ['http://attic.local:8018', 'http://192.168.1.9:8018']);
  nodes.setSightings([]);
  assert.deepEqual([list(), origins()], [[], []]);
});
