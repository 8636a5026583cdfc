// Tests the device message, which describes the node and its entities to Home Assistant. The tests compare it
// with a message that a real Home Assistant has accepted, check it by Home Assistant's rules, and remove
// entities from it. Also tests the example dashboard, which must name only entities that a node has.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { parse } from 'yaml';
import type { Change } from '../../../src/protocol/actor/messages.js';
import { VERSION } from '../../../src/version.js';
import { AnnouncedNode, type Message, PLAYER } from '../../broker/announced-node.js';
import { faultsOf } from '../../broker/home-assistant-rules.js';
import { CARD, drop, health, output, put, SERVER, service, WHOLE_NODE } from '../../broker/simulated-node.js';

const ACCEPTED_MESSAGE = new URL('../../../../test/golden/homeassistant-device.json', import.meta.url);

test('the device message has the device and every component that a real Home Assistant accepted', () => {
  const accepted = JSON.parse(readFileSync(ACCEPTED_MESSAGE, 'utf8')) as Message;
  const announced = new AnnouncedNode().message();
  assert.deepEqual(announced.device, { ...accepted.device, sw_version: VERSION });

  // The accepted message has keys such as `unit_mpd`, which the announced message lacks. So components with
  // the same unique id are compared.
  const byId = (components: Message['components']) =>
    Object.fromEntries(Object.values(components).map((component) => [component['unique_id'], component]));
  const ours = byId(announced.components);
  for (const [id, component] of Object.entries(byId(accepted.components)))
    assert.deepEqual(ours[id], component, id);
});

/** This name has 101 UTF-16 units. A cut after 100 units would leave half of the last character. */
const LONG_NAME = `${'x'.repeat(99)}🎵`;

const HALF_SURROGATE_PAIR = '\ud83c';

const DESCRIPTIONS = [LONG_NAME, HALF_SURROGATE_PAIR, ''];
const NAMES = ['a/b', 'a+b', 'a b', 'a.b', '🎵', 'x'.repeat(4096)];

const EVERYTHING: readonly Change[] = [
  ...WHOLE_NODE,
  health('players', 'up'),
  put('players', PLAYER.bus_name, { ...PLAYER, identity: LONG_NAME }),
  ...DESCRIPTIONS.map((description, i) =>
    put('audio.outputs', `${20 + i}`, output(20 + i, `named-${i}`, { description })),
  ),
  ...NAMES.map((name, i) => put('audio.outputs', `${10 + i}`, output(10 + i, name))),
  put('audio.cards', '3', CARD),
  put('systemd.services', 'user/player@kitchen.service', service('user', 'player@kitchen.service')),
  put('systemd.services', 'system/mpd.service', service('system', 'mpd.service')),
  put('systemd.services', 'user/mpd.timer', service('user', 'mpd.timer')),
  health('bluetooth', 'up'),
  put('bluetooth', '', {
    powered: true,
    pairing_active: false,
    known_devices: [{ address: 'AA:BB:CC:DD:EE:FF', name: 'Phone', connected: true }],
  }),
];

for (const control of [true, false]) {
  test(`the device message of a node that takes ${control ? '' : 'no '}commands breaks no rule of Home Assistant`, () =>
    assert.deepEqual(faultsOf(new AnnouncedNode({ control }, EVERYTHING).text()), []));
}

test('a node that takes no commands announces no command topic', () => {
  const { components } = new AnnouncedNode({ control: false }, EVERYTHING).message();
  for (const [key, component] of Object.entries(components))
    assert.equal(component['command_topic'], undefined, key);
});

test('a node that takes no commands shows the state of each switch as a binary_sensor', () => {
  const { components } = new AnnouncedNode({}, EVERYTHING).message();
  const switches = Object.keys(components).filter((key) => components[key]?.['platform'] === 'switch');
  const { components: readOnly } = new AnnouncedNode({ control: false }, EVERYTHING).message();
  // A switch that connects a Bluetooth device has no binary_sensor with its own key. Such a device always has
  // the binary_sensor `KEY_connected`.
  const sensorKeys = switches.map((key) => (/^bluetooth_[0-9A-F]{12}$/.test(key) ? `${key}_connected` : key));
  const keysWithoutSensor = sensorKeys.filter((key) => readOnly[key]?.['platform'] !== 'binary_sensor');
  assert.deepEqual(keysWithoutSensor, []);
});

test('keys and unique ids do not depend on the name or the topic of the node', () => {
  const idsOf = (node: AnnouncedNode) =>
    Object.entries(node.message().components).map(([key, { unique_id: id }]) => [key, id]);
  const moved = new AnnouncedNode({ topic: 'elsewhere' });
  moved.branch.polled.set('server', JSON.stringify({ ...SERVER, hostname: 'renamed.example.org' }));
  assert.deepEqual(idsOf(moved), idsOf(new AnnouncedNode()));
  assert.equal(moved.message().device['configuration_url'], 'http://renamed.example.org:8018/ui');
});

test('the device message first has only the platform of a removed entity, and then leaves the entity out', () => {
  const node = new AnnouncedNode();
  const retained = node.text();
  // Output 2 of `WHOLE_NODE` is `kitchen`, and output 1 is `alsa` (simulated-node.ts).
  node.publishRecords(drop('audio.outputs', '2'));
  const [firstMessage = '', secondMessage = '', ...more] = node.sequence(retained);
  assert.deepEqual(more, []);
  const firstComponents = JSON.parse(firstMessage).components;
  assert.deepEqual(firstComponents.output_kitchen_volume, { platform: 'number' });
  assert.deepEqual(firstComponents.output_kitchen_mute, { platform: 'switch' });
  assert.deepEqual(firstComponents.default_output.options, ['Living room']);

  const { components } = JSON.parse(secondMessage) as Message;
  assert.equal(components['output_kitchen_volume'], undefined);
  assert.ok(components['output_alsa_volume']);
});

test('if a unit has gone while the daemon was away, the first of two messages has only the platform of its entity', () => {
  const retained = new AnnouncedNode().text();
  const remaining = WHOLE_NODE.filter(({ key }) => key !== 'user/mpd.service');
  const later = new AnnouncedNode({}, remaining);
  const [firstMessage = ''] = later.sequence(retained);
  assert.deepEqual(JSON.parse(firstMessage).components.unit_user_mpd_service, { platform: 'switch' });
  assert.equal(later.sequence(retained).length, 2);
});

test('if the platform of an entity changes, one message removes the entity, and the next adds it with the new platform', () => {
  const retained = new AnnouncedNode({ control: false }).text();
  const [firstMessage = '', secondMessage = '', ...more] = new AnnouncedNode().sequence(retained);
  assert.deepEqual(JSON.parse(firstMessage).components.output_alsa_volume, { platform: 'sensor' });
  assert.equal(JSON.parse(secondMessage).components.output_alsa_volume.platform, 'number');
  assert.deepEqual(more, []);
});

test('the entities of a backend stay in the device message while the backend is not up', () => {
  const node = new AnnouncedNode();
  const retained = node.text();
  node.publishRecords(health('audio', 'connecting'), drop('audio.outputs', '1'), drop('audio.outputs', '2'));
  assert.deepEqual(node.sequence(retained), []);
});

test('without mqtt.homeAssistant the retained device message is removed', () => {
  const published = new AnnouncedNode({ homeAssistant: false }).text('whatever is there');
  // A broker forgets a retained message when it receives an empty one.
  assert.equal(published, '');
});

test('a retained device message that is not valid is overwritten', () => {
  for (const retained of ['x', '[]', '{"components": 1}', '{"components": {"a": null}}', 'null']) {
    assert.deepEqual(faultsOf(new AnnouncedNode().text(retained)), [], retained);
  }
});

test('an entity is removed even if the retained message is too large to be parsed', () => {
  const manyServices = Array.from({ length: 200 }, (_, index) =>
    put('systemd.services', `user/${index}.service`, service('user', `${index}.service`)),
  );
  const node = new AnnouncedNode({}, [...WHOLE_NODE, ...manyServices]);
  const retained = node.text();
  // The bridge parses no text of more than 65 536 bytes (`JSON_MAX_BYTES` in topics.ts).
  assert.ok(retained.length > 65_536, 'the message is too large');

  node.publishRecords(drop('systemd.services', 'user/7.service'));
  const [firstMessage = ''] = node.sequence(retained);
  assert.deepEqual(JSON.parse(firstMessage).components.unit_user_7_service, { platform: 'switch' });
});

const EXAMPLE = new URL('../../../../examples/home-assistant.yaml', import.meta.url);

/** The id that Home Assistant makes from a name. */
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

test('the example dashboard names only entities that exist, and at least one of every platform', () => {
  const node = new AnnouncedNode().publishRecords(
    health('players', 'up'),
    put('players', PLAYER.bus_name, PLAYER),
  );
  const { device, components } = node.message();
  const entityIds = Object.values(components).map(
    ({ platform, name }) => `${platform}.${slugOf(`${device['name']} ${name}`)}`,
  );
  const platforms = [...new Set(Object.values(components).map(({ platform }) => platform))];
  // The dashboard is for a node with the hostname `living`, which `SERVER` has (simulated-node.ts).
  const idPattern = new RegExp(`\\b(?:${platforms.join('|')})\\.living_\\w+`, 'g');

  const texts = textsIn(parse(readFileSync(EXAMPLE, 'utf8')));
  const namedIds = texts.flatMap((text) => text.match(idPattern) ?? []);
  const missing = namedIds.filter((id) => !entityIds.includes(id));
  assert.deepEqual(missing, []);
  const platformsOnDashboard = new Set(namedIds.map((id) => id.split('.')[0]));
  assert.deepEqual([...platformsOnDashboard].sort(), platforms.sort());
});
