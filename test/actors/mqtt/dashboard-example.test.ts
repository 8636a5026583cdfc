// The example dashboard must name only entities that the node in its first lines has.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { parse } from 'yaml';
import { AnnouncedNode, PLAYER } from '../../broker/announced-node.js';
import { health, put, WHOLE_NODE } from '../../broker/simulated-node.js';

const EXAMPLE = new URL('../../../../examples/home-assistant.yaml', import.meta.url);

/** Home Assistant makes an id from a name in plain letters in this way. */
const slugOf = (name: string): string =>
  name
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '_')
    .replace(/^_|_$/g, '');

/** All texts in the value, at any depth. */
function textsIn(value: unknown): readonly string[] {
  if (typeof value === 'string') return [value];
  return value instanceof Object ? Object.values(value).flatMap(textsIn) : [];
}

test('the example dashboard names entities that exist, and one of every kind at least', () => {
  const node = new AnnouncedNode({}, [
    ...WHOLE_NODE,
    health('players', 'up'),
    put('players', PLAYER.bus_name, PLAYER),
  ]);
  const { device, components } = node.message();
  const entities = Object.values(components).map(
    ({ platform, name }) => `${platform}.${slugOf(`${device['name']} ${name}`)}`,
  );
  const platforms = [...new Set(Object.values(components).map(({ platform }) => platform))];
  const named = new RegExp(`\\b(?:${platforms.join('|')})\\.living_\\w+`, 'g');
  const dashboard = textsIn(parse(readFileSync(EXAMPLE, 'utf8'))).flatMap((text) => text.match(named) ?? []);
  assert.deepEqual(
    dashboard.filter((name) => !entities.includes(name)),
    [],
  );
  const shown = new Set(dashboard.map((name) => name.split('.')[0]));
  assert.deepEqual([...shown].sort(), platforms.sort());
});
