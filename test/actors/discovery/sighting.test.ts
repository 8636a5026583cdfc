// Tests which facts about a service on the network are accepted, and how these facts become the record of a
// node (docs/http-api.md, "Node").

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { announcedNode, parseSighting, type Sighting } from '../../../src/actors/discovery/sighting.js';

/** The daemon's own node is not announced, so it has no name on the network. */
const OWN_NAME = undefined;

const SERVICE = { name: 'attic', host: 'attic.local', address: '192.0.2.7', port: 8018 };

function sightedAs(txt: readonly string[], changes: Partial<typeof SERVICE> = {}): Sighting | undefined {
  const pairs = txt.map((pair) => Buffer.from(pair));
  const isLocal = false;
  return parseSighting({ ...SERVICE, ...changes }, pairs, isLocal);
}

test('a service is a node only if its TXT record, port and host are right', () => {
  const wrongTxtRecords = [['api=printer'], [], ['xapi=tonearm'], ['api']];
  for (const txt of wrongTxtRecords) assert.equal(sightedAs(txt), undefined, `${txt}`);
  // Keys may have capitals. If a key occurs twice, its first pair counts (RFC 6763, 6.4).
  assert.equal(sightedAs(['API=tonearm', 'api=odio-api'])?.api, 'tonearm');
  assert.equal(sightedAs(['api=tonearm'], { port: 0 }), undefined);

  const longHost = `${'a'.repeat(300)}.local`;
  const wrongHosts = [
    'evil.example',
    'local',
    '192.0.2.7',
    'a/b',
    'evil.example:80/',
    '[::1]',
    '',
    'a b',
    longHost,
  ];
  for (const host of wrongHosts) assert.equal(sightedAs(['api=tonearm'], { host }), undefined, host);
});

test('a service whose name begins with the word odio-api is a node if its TXT record has no api, but not if the record has an unknown api', () => {
  const { api, path, version } = sightedAs(['version=0.6.0'], { name: 'odio-api on attic' }) ?? {};
  assert.deepEqual([api, path, version], ['odio-api', '/ui', '0.6.0']);
  assert.equal(sightedAs(['version=0.6.0'], { name: 'odio-apis' }), undefined);
  assert.equal(sightedAs(['api=printer'], { name: 'odio-api' }), undefined);
});

/** Each key is an announced path, and its value is the path that is published. */
const PATHS: Readonly<Record<string, string>> = {
  '/ui': '/ui',
  '/a/b?c=d#e': '/a/b?c=d#e',
  'javascript:alert(1)': '/',
  ui: '/',
  '\\\\evil.example': '/',
  '/a"><script>': '/',
  '/a b': '/',
  '': '/',
  [`/${'a'.repeat(300)}`]: '/',
};
for (const [path, expected] of Object.entries(PATHS)) {
  const printedPath = path.length > 20 ? `${path.slice(0, 20)}...` : path;
  test(`the path ${JSON.stringify(printedPath)} is published as ${expected}`, () =>
    assert.equal(sightedAs(['api=tonearm', `path=${path}`])?.path, expected));
}

test('a node has only addresses that belong to its own host and that other machines can use, and IPv4 addresses come first', () => {
  const addresses = '2001:db8::1 192.0.2.7 192.0.2.7 127.0.0.1 ::1 fe80::1 0.0.0.0 224.0.0.1 x'.split(' ');
  const sightings = addresses.flatMap((address) => sightedAs(['api=tonearm'], { address }) ?? []);
  const sightingOfOtherHost = sightedAs(['api=tonearm'], { address: '192.0.2.9', host: 'other.local' });
  assert.ok(sightingOfOtherHost);
  assert.deepEqual(announcedNode([...sightings, sightingOfOtherHost], OWN_NAME)?.addresses, [
    '192.0.2.7',
    '2001:db8::1',
  ]);
});

test('the addresses of one host are listed together, even if one announcement of its name has a capital and another has none', () => {
  const announcements = [
    { address: '192.0.2.7', host: 'Attic.local' },
    { address: '192.0.2.8', host: 'attic.local' },
  ];
  const sightings = announcements.flatMap((changes) => sightedAs(['api=tonearm'], changes) ?? []);
  assert.deepEqual(announcedNode(sightings, OWN_NAME)?.addresses, ['192.0.2.7', '192.0.2.8']);
});

test('a node is this node only if its service is local and has the name of this node', () => {
  const sighting = sightedAs(['api=tonearm']) ?? assert.fail('the service is no node');
  const local: Sighting = { ...sighting, isLocal: true };
  const remote: Sighting = { ...sighting, isLocal: false };

  assert.equal(announcedNode([local], 'attic')?.self, true);
  assert.equal(announcedNode([local], 'other')?.self, false);
  assert.equal(announcedNode([remote], 'attic')?.self, false);
});
