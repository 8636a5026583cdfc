// The facts that are believed of a service on the network, and the node that is made of them
// (docs/http-api.md, "Node").

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { announcedNode, parseSighting, type Sighting } from '../../../src/actors/discovery/sighting.js';

const AT = { name: 'attic', host: 'attic.local', address: '192.0.2.7', port: 8018 };

function sightedAs(txt: readonly string[], at: Partial<typeof AT> = {}): Sighting | undefined {
  const pairs = txt.map((pair) => Buffer.from(pair));
  return parseSighting({ ...AT, ...at }, pairs, false);
}

test('a service is a node if its TXT record, port and host are right', () => {
  const none = [sightedAs(['api=printer']), sightedAs([]), sightedAs(['xapi=tonearm']), sightedAs(['api'])];
  assert.deepEqual(none, [undefined, undefined, undefined, undefined]);
  assert.equal(sightedAs(['API=tonearm', 'api=odio-api'])?.api, 'tonearm');
  assert.equal(sightedAs(['api=tonearm'], { port: 0 }), undefined);
  const long = `${'a'.repeat(300)}.local`;
  const hosts = ['', 'a b', long, ...'evil.example local 192.0.2.7 a/b evil.example:80/ [::1]'.split(' ')];
  for (const host of hosts) assert.equal(sightedAs(['api=tonearm'], { host }), undefined, host);
});

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
  test(`the path ${JSON.stringify(path.slice(0, 20))} is published as ${expected}`, () =>
    assert.equal(sightedAs(['api=tonearm', `path=${path}`])?.path, expected));
}

test('addresses of other scopes are left out; IPv4 comes first', () => {
  const addresses = '2001:db8::1 192.0.2.7 192.0.2.7 127.0.0.1 ::1 fe80::1 0.0.0.0 224.0.0.1 x'.split(' ');
  const sightings = addresses.flatMap((address) => sightedAs(['api=tonearm'], { address }) ?? []);
  const other = sightedAs(['api=tonearm'], { address: '192.0.2.9', host: 'other.local' });
  assert.ok(other);
  assert.deepEqual(announcedNode([...sightings, other], undefined)?.addresses, ['192.0.2.7', '2001:db8::1']);
});

test('this node is the local service of its own name', () => {
  const [local, remote] = [true, false].map(
    (isLocal) => ({ ...sightedAs(['api=tonearm']), isLocal }) as Sighting,
  );
  assert.ok(local && remote);
  const nodes = [
    announcedNode([local], 'attic'),
    announcedNode([local], 'other'),
    announcedNode([remote], 'attic'),
  ];
  const own = nodes.map((node) => node?.self);
  assert.deepEqual(own, [true, false, false]);
});
